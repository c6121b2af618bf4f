package rules

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// change refuses what AWS refuses ("Action types for listener rules"; for target
// stickiness kubernetes-sigs/aws-load-balancer-controller#2734).
func (f *fake) change(arn string, actions []types.Action) error {
	r, ok := f.rules[arn]
	if !ok {
		return apiError("RuleNotFound", "One or more rules not found")
	}
	for _, a := range actions {
		if oidc := a.AuthenticateOidcConfig; oidc != nil && oidc.ClientSecret == nil && !aws.ToBool(oidc.UseExistingClientSecret) {
			return apiError("InvalidLoadBalancerAction", "the client secret is missing")
		}
		if a.ForwardConfig != nil {
			if err := f.check(a.ForwardConfig); err != nil {
				return err
			}
		}
	}
	if f.lag > 0 {
		f.shown[arn], f.lags[arn] = r, f.lag
	}
	r.Actions = asRead(actions)
	f.rules[arn] = r
	return nil
}

func (f *fake) check(c *types.ForwardActionConfig) error {
	if len(c.TargetGroups) > 5 {
		return apiError("TooManyTargetGroups", "an action has at most 5 target groups")
	}
	s := c.TargetGroupStickinessConfig
	on := s != nil && aws.ToBool(s.Enabled)
	if on && (aws.ToInt32(s.DurationSeconds) < 1 || aws.ToInt32(s.DurationSeconds) > 604800) {
		return apiError("InvalidLoadBalancerAction", "stickiness lasts from 1 to 604800 seconds")
	}
	seen := make(map[string]bool)
	for _, t := range c.TargetGroups {
		if w := aws.ToInt32(t.Weight); w < 0 || w > 999 {
			return apiError("ValidationError", "a weight is from 0 to 999")
		}
		if seen[*t.TargetGroupArn] {
			return apiError("InvalidLoadBalancerAction", "a target group is named twice")
		}
		seen[*t.TargetGroupArn] = true
		if f.sticky[*t.TargetGroupArn] && len(c.TargetGroups) > 1 && !on {
			return apiError("InvalidConfigurationRequest", "You must enable group stickiness before enabling target stickiness")
		}
	}
	return nil
}

// asRead returns actions as AWS shows them: secrets are left out, and a forward to
// one target group is shown in both forms.
func asRead(actions []types.Action) []types.Action {
	var out []types.Action
	for _, a := range actions {
		if a.AuthenticateOidcConfig != nil {
			oidc := *a.AuthenticateOidcConfig
			oidc.ClientSecret, oidc.UseExistingClientSecret = nil, nil
			a.AuthenticateOidcConfig = &oidc
		}
		if c := a.ForwardConfig; c != nil && len(c.TargetGroups) == 1 {
			a.TargetGroupArn = c.TargetGroups[0].TargetGroupArn
		}
		out = append(out, a)
	}
	return out
}

func (f *fake) tag(arn string, tags []types.Tag) error {
	if _, ok := f.rules[arn]; !ok {
		return apiError("RuleNotFound", "One or more rules not found")
	}
	if f.tags[arn] == nil {
		f.tags[arn] = make(map[string]string)
	}
	for _, t := range tags {
		odd := strings.ContainsFunc(*t.Value, func(c rune) bool {
			return !isAlphanumeric(c) && !strings.ContainsRune(" _.:/=+-@", c)
		})
		if len(*t.Value) > 256 || odd || strings.HasPrefix(*t.Key, "aws:") {
			return apiError("InvalidParameterValue", "tag "+*t.Key)
		}
		f.tags[arn][*t.Key] = *t.Value
	}
	return nil
}
