package rules

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// A sweep has many rules, a call that gets no answer takes two seconds, and a lease
// lasts thirty.
func TestADeployerThatDoesNotAnswerIsAskedOnceInAPass(t *testing.T) {
	w := newWorld(t, scalar(blue))
	second, third := ruleARN(2), ruleARN(3)
	for arn, tg := range map[string]string{second: blue, third: green} {
		w.aws.Rules[arn] = types.Rule{RuleArn: &arn, Actions: []types.Action{scalar(tg)}}
	}
	w.snapshot.Groups["blue"] = cluster.Group{ID: "blue", TargetGroup: blue, Rules: []string{front, second}, Sources: []string{"ecs:prod/web"}}
	w.group("green", green, third)
	w.node("o1", "other")
	w.pause("blue", cluster.Redirect)
	w.pause("green", cluster.Redirect)
	asked := 0
	w.config.Busy = func(_ context.Context, g cluster.Group, _ string) (string, error) {
		if len(g.Sources) == 0 {
			return "", nil
		}
		asked++
		return "", errors.New("no route")
	}
	report, err := w.try(Options{})
	require.ErrorIs(t, err, ErrUnreachable)
	assert.Equal(t, 1, asked)
	var states []State
	for _, st := range report.Rules {
		states = append(states, st.State)
	}
	assert.Equal(t, []State{Pending, Pending, Moved}, states, "who has no such source is served")

	w.config.Busy, w.rules = nil, nil
	for _, st := range w.pass(Options{}).Rules {
		assert.Equal(t, Moved, st.State, "the next pass goes on")
	}
}
