package localaws

import (
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// change refuses what AWS refuses ("Action types for listener rules"; for target
// stickiness kubernetes-sigs/aws-load-balancer-controller#2734).
func (e *ELB) change(arn string, actions []types.Action) error {
	r, ok := e.Rules[arn]
	if !ok {
		return Error("RuleNotFound", "One or more rules not found")
	}
	for _, a := range actions {
		if oidc := a.AuthenticateOidcConfig; oidc != nil && oidc.ClientSecret == nil && !aws.ToBool(oidc.UseExistingClientSecret) {
			return Error("InvalidLoadBalancerAction", "the client secret is missing")
		}
		if a.ForwardConfig != nil {
			if err := e.check(a.ForwardConfig); err != nil {
				return err
			}
		}
	}
	if e.balancer != nil {
		if err := e.changeThere(arn, actions); err != nil {
			return err
		}
	}
	if e.Lag > 0 {
		e.shown[arn], e.lags[arn] = r, e.Lag
	}
	r.Actions = AsRead(actions)
	e.Rules[arn] = r
	return nil
}

func (e *ELB) check(c *types.ForwardActionConfig) error {
	if len(c.TargetGroups) > 5 {
		return Error("TooManyTargetGroups", "an action has at most 5 target groups")
	}
	s := c.TargetGroupStickinessConfig
	on := s != nil && aws.ToBool(s.Enabled)
	if on && (aws.ToInt32(s.DurationSeconds) < 1 || aws.ToInt32(s.DurationSeconds) > 604800) {
		return Error("InvalidLoadBalancerAction", "stickiness lasts from 1 to 604800 seconds")
	}
	seen := make(map[string]bool)
	for _, t := range c.TargetGroups {
		if w := aws.ToInt32(t.Weight); w < 0 || w > 999 {
			return Error("ValidationError", "a weight is from 0 to 999")
		}
		arn := aws.ToString(t.TargetGroupArn)
		if arn == "" || seen[arn] {
			return Error("InvalidLoadBalancerAction", "a target group is named twice, or not at all")
		}
		seen[arn] = true
		if e.Sticky[arn] && len(c.TargetGroups) > 1 && !on {
			return Error("InvalidConfigurationRequest", "You must enable group stickiness before enabling target stickiness")
		}
	}
	return nil
}

// AsRead returns actions as AWS shows them: secrets are left out, and a forward to
// one target group is shown in both forms.
func AsRead(actions []types.Action) []types.Action {
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

// tagText is what a tag's value may hold ("Tag your AWS resources").
var tagText = regexp.MustCompile(`^[A-Za-z0-9 _.:/=+@-]{0,256}$`)

func (e *ELB) tag(arn string, tags []types.Tag) error {
	if _, ok := e.Rules[arn]; !ok {
		return Error("RuleNotFound", "One or more rules not found")
	}
	if e.Tags[arn] == nil {
		e.Tags[arn] = make(map[string]string)
	}
	for _, t := range tags {
		key, value := aws.ToString(t.Key), aws.ToString(t.Value)
		if key == "" || !tagText.MatchString(value) || strings.HasPrefix(key, "aws:") {
			return Error("InvalidParameterValue", "tag "+key)
		}
		e.Tags[arn][key] = value
	}
	return nil
}
