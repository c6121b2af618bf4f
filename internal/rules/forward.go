package rules

import (
	"cmp"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// Weight is what a forward action gives one target group, in proportion to the
// other weights of the action.
type Weight struct {
	TargetGroup string `json:"target_group"` // ARN
	Weight      int32  `json:"weight"`       // 0 to 999
}

// Forward is a forward action in one form, whichever it is written in.
type Forward struct {
	Weights []Weight `json:"weights"`         // in the action's order; each target group once
	Sticky  int32    `json:"sticky,omitzero"` // group stickiness in seconds; zero is off
}

// AWS's limits of a forward action ("Action types for listener rules" and
// "Quotas for your Application Load Balancers" in the user guide).
const (
	maxTargetGroups = 5
	maxWeight       = 999
	maxSticky       = 604800 // seconds
)

var errNoForward = errors.New("does not end in a forward action")

// forwardOf returns the last action, which must be a forward. A single target
// group may be given without a weight: then it has 1, as AWS says.
func forwardOf(actions []types.Action) (Forward, error) {
	i := last(actions)
	if i < 0 || actions[i].Type != types.ActionTypeEnumForward {
		return Forward{}, errNoForward
	}
	a := actions[i]
	if a.ForwardConfig == nil || len(a.ForwardConfig.TargetGroups) == 0 {
		if aws.ToString(a.TargetGroupArn) == "" {
			return Forward{}, errNoForward
		}
		return Forward{Weights: []Weight{{*a.TargetGroupArn, 1}}}, nil
	}
	var f Forward
	for _, t := range a.ForwardConfig.TargetGroups {
		weight := int32(1)
		if t.Weight != nil {
			weight = *t.Weight
		}
		f.Weights = append(f.Weights, Weight{aws.ToString(t.TargetGroupArn), weight})
	}
	if s := a.ForwardConfig.TargetGroupStickinessConfig; s != nil && aws.ToBool(s.Enabled) {
		f.Sticky = aws.ToInt32(s.DurationSeconds)
	}
	return f, nil
}

// last returns the index of the action that is performed last, -1 if there is
// none. One without an order is where it stands.
func last(actions []types.Action) int {
	best := -1
	for i, a := range actions {
		if best < 0 || aws.ToInt32(a.Order) >= aws.ToInt32(actions[best].Order) {
			best = i
		}
	}
	return best
}

// withForward returns actions with f as the last one; the others and the order
// stay as read. The secret of an OIDC client is never told when it is read, and
// AWS keeps it when asked to. actions must end in a forward.
func withForward(actions []types.Action, f Forward) []types.Action {
	out := slices.Clone(actions)
	for i, a := range out {
		if a.AuthenticateOidcConfig != nil {
			oidc := *a.AuthenticateOidcConfig
			oidc.ClientSecret, oidc.UseExistingClientSecret = nil, aws.Bool(true)
			out[i].AuthenticateOidcConfig = &oidc
		}
	}
	i := last(out)
	out[i] = types.Action{Type: types.ActionTypeEnumForward, Order: out[i].Order, ForwardConfig: f.config()}
	return out
}

func (f Forward) config() *types.ForwardActionConfig {
	sticky := &types.TargetGroupStickinessConfig{Enabled: aws.Bool(f.Sticky > 0)}
	if f.Sticky > 0 {
		sticky.DurationSeconds = aws.Int32(f.Sticky)
	}
	c := &types.ForwardActionConfig{TargetGroupStickinessConfig: sticky}
	for _, w := range f.Weights {
		c.TargetGroups = append(c.TargetGroups, types.TargetGroupTuple{
			TargetGroupArn: aws.String(w.TargetGroup), Weight: aws.Int32(w.Weight),
		})
	}
	return c
}

// of returns the weight of a target group, and false if it has no place in f.
func (f Forward) of(targetGroup string) (int32, bool) {
	for _, w := range f.Weights {
		if w.TargetGroup == targetGroup {
			return w.Weight, true
		}
	}
	return 0, false
}

// equal reports whether f and o do the same: the order of target groups is of no
// account, nor is the weight of one that is alone.
func (f Forward) equal(o Forward) bool { return f.Sticky == o.Sticky && f.shares(o) }

// shares is equal but for stickiness.
func (f Forward) shares(o Forward) bool {
	a, b := f.plain(), o.plain()
	return slices.Equal(a, b)
}

// plain returns the weights in the order of their target groups.
func (f Forward) plain() []Weight {
	if len(f.Weights) == 1 {
		return []Weight{{f.Weights[0].TargetGroup, min(f.Weights[0].Weight, 1)}}
	}
	weights := slices.Clone(f.Weights)
	slices.SortFunc(weights, func(a, b Weight) int { return cmp.Compare(a.TargetGroup, b.TargetGroup) })
	return weights
}
