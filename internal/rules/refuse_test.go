package rules

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/internal/localaws"
	"github.com/detourhq/detour/pkg/cluster"
)

func TestWhatCannotBeMovedIsNamed(t *testing.T) {
	five := forwardTo(0, blue, 1, green, 1, other, 1, targetGroup("d", 4), 1, targetGroup("e", 5), 1)
	withDetour := forwardTo(0, blue, 1, green, 1, other, 1, targetGroup("d", 4), 1, detour, 0)
	for _, row := range []struct {
		name   string
		action types.Action
		change func(*world)
		want   State
		why    string
	}{
		{"five target groups", action(five), nil, Refused, "five target groups"},
		{"five, the redirect function's among them", action(withDetour), nil, Moved, ""},
		{"a fixed response", types.Action{Type: types.ActionTypeEnumFixedResponse}, nil, Refused, "forward"},
		{"a redirect", types.Action{Type: types.ActionTypeEnumRedirect}, nil, Refused, "forward"},
		{"a default rule", scalar(blue), isDefault, Refused, "default rule"},
		{"no redirect function", scalar(blue), func(w *world) { w.config.TargetGroup = "" }, Refused, "redirect function"},
		{"the target group is elsewhere", scalar(green), nil, Refused, "does not forward"},
		{"the group's is the rule's only one", scalar(blue), func(w *world) { w.group("blue", "", front) }, Moved, ""},
		{"the group names none of several", action(both()), func(w *world) { w.group("blue", "", front) }, Refused, "several"},
		{"a group of the redirect function", scalar(detour), func(w *world) { w.group("blue", detour, front) }, Refused, "would be moved to"},
		{"AWS denies it", scalar(blue), refuse("ModifyRule", "AccessDenied"), Denied, "change the rule"},
		{"AWS denies the tags", scalar(blue), refuse("AddTags", "AccessDeniedException"), Denied, "tag the rule"},
		{"AWS denies to read", scalar(blue), refuse("DescribeRules", "AccessDenied"), Denied, "read rules"},
		{"AWS refuses it", scalar(blue), refuse("ModifyRule", "TargetGroupAssociationLimit"), Refused, "TargetGroupAssociationLimit"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, row.action)
			if row.change != nil {
				row.change(w)
			}
			w.pause("blue", cluster.Redirect)
			st := w.state(Options{})
			assert.Equal(t, row.want, st.State, st.Why)
			assert.Contains(t, st.Why, row.why)
			assert.Equal(t, []string{"blue", "green"}, st.Groups)
		})
	}
}

func isDefault(w *world) {
	r := w.aws.Rules[front]
	r.IsDefault = aws.Bool(true)
	w.aws.Rules[front] = r
}

func refuse(verb, code string) func(*world) {
	return func(w *world) {
		w.aws.Before = func(v, _ string) error {
			if v == verb {
				return localaws.Error(code, "no")
			}
			return nil
		}
	}
}

// A refusal is asked for again, but not for ever.
func TestARefusalOfAWSIsTakenAfterThreeTries(t *testing.T) {
	w := newWorld(t, scalar(blue))
	tries := 0
	w.aws.Before = func(verb, _ string) error {
		if verb != "ModifyRule" {
			return nil
		}
		tries++
		return localaws.Error("TargetGroupAssociationLimit", "no")
	}
	w.pause("blue", cluster.Redirect)
	for range 2 * maxWrites {
		st := w.state(Options{})
		assert.Equal(t, Refused, st.State)
		assert.Contains(t, st.Why, "TargetGroupAssociationLimit")
	}
	assert.Equal(t, maxWrites, tries)
}

func TestADefaultRuleIsMovedByItsListener(t *testing.T) {
	w := newWorld(t, scalar(blue))
	isDefault(w)
	w.config.AllowDefaultRule = true
	w.pause("blue", cluster.Redirect)
	assert.Equal(t, Moved, w.state(Options{}).State)
	w.is(forwardTo(0, blue, 0, detour, 1), claim("blue", "0000000000000001=1 sticky=0"))
	assert.Equal(t, "ModifyListener "+account+"listener/app/web/50dc6c495c0c9188/f2f7dc8efc522ab2", w.aws.Writes[1])
	w.resume("blue")
	w.pass(Options{})
	w.is(forwardTo(0, blue, 1), nil)
}

func TestTargetStickinessKeepsASecondOfGroupStickiness(t *testing.T) {
	for _, resting := range []int32{0, 1, 3600} {
		t.Run(fmt.Sprint(resting), func(t *testing.T) {
			w := newWorld(t, action(forwardTo(resting, blue, 1)))
			w.aws.Sticky[blue] = true
			w.pause("blue", cluster.Redirect)
			assert.Equal(t, Moved, w.state(Options{}).State)
			w.is(forwardTo(1, blue, 0, detour, 1), claim("blue", fmt.Sprintf("0000000000000001=1 sticky=%d", resting)))
			writes := len(w.aws.Writes)
			w.pass(Options{})
			assert.Len(t, w.aws.Writes, writes)
			w.resume("blue")
			assert.Equal(t, Resting, w.state(Options{}).State)
			w.is(forwardTo(resting, blue, 1), nil)
		})
	}
}

// The other actions, and what AWS does not tell of them, stay.
func TestOtherActionsStay(t *testing.T) {
	oidc := types.Action{Type: types.ActionTypeEnumAuthenticateOidc, Order: aws.Int32(1), AuthenticateOidcConfig: &types.AuthenticateOidcActionConfig{
		ClientId: aws.String("c"), ClientSecret: aws.String("s"), Issuer: aws.String("https://id.example.com"),
	}}
	cognito := types.Action{Type: types.ActionTypeEnumAuthenticateCognito, Order: aws.Int32(2), AuthenticateCognitoConfig: &types.AuthenticateCognitoActionConfig{UserPoolClientId: aws.String("u")}}
	jwt := types.Action{Type: types.ActionTypeEnumJwtValidation, Order: aws.Int32(3), JwtValidationConfig: &types.JwtValidationActionConfig{Issuer: aws.String("https://id.example.com")}}
	forward := scalar(blue)
	forward.Order = aws.Int32(4)
	w := newWorld(t, forward, jwt, cognito, oidc) // AWS need not show them in order
	before := w.aws.Rules[front].Actions
	w.pause("blue", cluster.Redirect)
	assert.Equal(t, Moved, w.state(Options{}).State)
	after := w.aws.Rules[front].Actions
	assert.Equal(t, before[1:], after[1:])
	assert.Equal(t, aws.Int32(4), after[0].Order)
	assert.Equal(t, forwardTo(0, blue, 0, detour, 1).config(), after[0].ForwardConfig)
}
