package rules

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/localaws"
	"github.com/detourhq/detour/pkg/cluster"
)

func TestARuleIsNotMovedWhereNobodyIsLeft(t *testing.T) {
	w := newWorld(t, action(both()))
	w.snapshot.Nodes = w.snapshot.Nodes[:1] // blue's
	w.pause("blue", cluster.Redirect)
	assert.Equal(t, Refused, w.state(Options{}).State)
	assert.Empty(t, w.aws.Writes)
	w.node("g1", "green")
	assert.Equal(t, Moved, w.state(Options{}).State, "somebody came")
	w.snapshot.Nodes = w.snapshot.Nodes[:1]
	assert.Equal(t, Moved, w.state(Options{}).State, "what is moved is not moved back for it")
}

func TestForceIsRememberedForThePauseThatItWasGivenFor(t *testing.T) {
	synctest.Test(t, forceIsRemembered) // throttled calls wait
}

func forceIsRemembered(t *testing.T) {
	w := newWorld(t, action(both()))
	w.snapshot.Nodes = nil
	w.pause("blue", cluster.Redirect)
	assert.Equal(t, Refused, w.state(Options{}).State)
	w.aws.Before = func(verb, _ string) error {
		if verb == "ModifyRule" {
			return localaws.Error("ThrottlingException", "Rate exceeded")
		}
		return nil
	}
	report, err := w.try(Options{Force: true})
	require.ErrorIs(t, err, ErrUnreachable)
	assert.Equal(t, Pending, report.Rules[0].State)
	w.aws.Before = nil
	assert.Equal(t, Moved, w.state(Options{}).State)
	w.pause("green", cluster.Redirect)
	assert.Equal(t, Refused, w.state(Options{}).State, "this is another pause")
	w.resume("blue")
	w.resume("green")
	assert.Equal(t, Resting, w.state(Options{}).State)
	w.pause("blue", cluster.Redirect)
	assert.Equal(t, Refused, w.state(Options{}).State, "and so is this")
}

func TestForceEndsWithItsPause(t *testing.T) {
	w := newWorld(t, action(both()))
	w.pause("blue", cluster.Redirect)
	w.pass(Options{Force: true})
	w.resume("blue")
	w.aws.Health[blue] = nil
	assert.Equal(t, Pending, w.state(Options{}).State)
	w.becomes(both())
	w.snapshot.Nodes = nil
	w.pause("blue", cluster.Redirect)
	assert.Equal(t, Refused, w.state(Options{}).State)
}

func TestATargetGroupOfTwoGroupsIsMovedForEither(t *testing.T) {
	for _, name := range []string{"a", "z"} {
		w := newWorld(t, action(both()))
		w.group(name, blue, front)
		w.pause("blue", cluster.Redirect)
		assert.Equal(t, Moved, w.state(Options{}).State)
	}
}

func TestModesAndRules(t *testing.T) {
	ended := func(p *cluster.Pause) { p.Deadline = start }
	over := func(p *cluster.Pause) { p.Until = start }
	for _, row := range []struct {
		name   string
		mode   cluster.Mode
		change func(*cluster.Pause)
		nobody bool
		o      Options
		want   State
	}{
		{"redirect moves", cluster.Redirect, nil, false, Options{}, Moved},
		{"stop moves", cluster.Stop, nil, false, Options{}, Moved},
		{"stop is refused when nobody is left", cluster.Stop, nil, true, Options{}, Refused},
		{"hold moves", cluster.Hold, nil, false, Options{}, Moved},
		{"hold moves though nobody is left", cluster.Hold, nil, true, Options{}, Moved},
		{"drain leaves the rule", cluster.Drain, nil, false, Options{}, Resting},
		{"drain moves when forced", cluster.Drain, nil, false, Options{Force: true}, Moved},
		{"a drain that has ended moves", cluster.Drain, ended, false, Options{}, Moved},
		{"a pause past its end does not", cluster.Redirect, over, false, Options{}, Resting},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, action(both()))
			w.pause("blue", row.mode)
			if row.change != nil {
				p := w.snapshot.Pauses[cluster.GroupTarget("blue")]
				row.change(&p)
				w.snapshot.Pauses[cluster.GroupTarget("blue")] = p
			}
			if row.nobody {
				w.snapshot.Nodes = nil
			}
			assert.Equal(t, row.want, w.state(row.o).State)
		})
	}
}

func TestADrainMovesNoRuleBack(t *testing.T) {
	w := newWorld(t, action(both()))
	w.pause("blue", cluster.Redirect)
	w.pass(Options{})
	w.pause("blue", cluster.Drain)
	assert.Equal(t, Moved, w.state(Options{}).State)
}

func TestAPauseOfAllMovesEveryGroup(t *testing.T) {
	w := newWorld(t, action(both()))
	w.snapshot.Pauses[cluster.All] = cluster.Pause{Mode: cluster.Hold}
	assert.Equal(t, Moved, w.state(Options{}).State)
	w.is(forwardTo(0, blue, 0, green, 0, detour, 100), claim("blue green", "0000000000000001=60 0000000000000002=40 sticky=3600"))
}

func TestAPauseOfNodesMovesNothing(t *testing.T) {
	w := newWorld(t, action(both()))
	w.snapshot.Pauses[cluster.NodeTarget("b1")] = cluster.Pause{Mode: cluster.Redirect}
	assert.Equal(t, Resting, w.state(Options{}).State)
}

func TestAContextThatOnlyOneGroupServesIsNotMoved(t *testing.T) {
	w := newWorld(t, action(both()))
	w.snapshot.Nodes[0].Contexts = []string{"/", "/shop"}
	w.snapshot.Nodes[1].Contexts = []string{"/"}
	w.pause("blue", cluster.Redirect)
	assert.Equal(t, Refused, w.state(Options{}).State)
	w.snapshot.Nodes[0].Report.Contexts = map[string]cluster.Status{"/shop": cluster.Inactive}
	assert.Equal(t, Moved, w.state(Options{}).State, "nobody served it before either")
}

func TestARuleComesBackToHealthyTargets(t *testing.T) {
	const (
		initial  = types.TargetHealthStateEnumInitial
		healthy  = types.TargetHealthStateEnumHealthy
		ill      = types.TargetHealthStateEnumUnhealthy
		draining = types.TargetHealthStateEnumDraining
		leaving  = types.TargetHealthStateEnumUnhealthyDraining
		unknown  = types.TargetHealthStateEnumUnavailable
	)
	for _, row := range []struct {
		name    string
		targets []types.TargetHealthStateEnum
		after   time.Duration
		force   bool
		want    State
	}{
		{"all are healthy", []types.TargetHealthStateEnum{healthy, healthy}, 0, false, Resting},
		{"those that drain do not count", []types.TargetHealthStateEnum{draining, healthy, leaving}, 0, false, Resting},
		{"one that is not checked is well", []types.TargetHealthStateEnum{unknown}, 0, false, Resting},
		{"one is not healthy yet", []types.TargetHealthStateEnum{healthy, initial}, 0, false, Pending},
		{"one is not healthy for almost two minutes", []types.TargetHealthStateEnum{healthy, ill}, patience - time.Millisecond, false, Pending},
		{"one is not healthy after two minutes", []types.TargetHealthStateEnum{healthy, ill}, patience, false, Resting},
		{"none is healthy after two minutes", []types.TargetHealthStateEnum{ill, initial}, patience, false, Pending},
		{"none is healthy, and that is meant", []types.TargetHealthStateEnum{ill}, 0, true, Resting},
		{"there is no target", nil, patience, false, Pending},
		{"all targets drain", []types.TargetHealthStateEnum{draining}, patience, false, Pending},
		{"there is no target, and that is meant", nil, 0, true, Resting},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, action(both()))
			w.pause("blue", cluster.Redirect)
			w.pass(Options{})
			w.resume("blue")
			w.aws.Health[blue] = row.targets
			st := w.state(Options{Force: row.force})
			if row.after > 0 {
				assert.Equal(t, Pending, st.State)
				assert.NotEmpty(t, st.Why)
				w.now = w.now.Add(row.after - time.Second)
				st = w.state(Options{})
			}
			assert.Equal(t, row.want, st.State, st.Why)
		})
	}
}
