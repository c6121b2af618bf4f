package rules

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/localaws"
	"github.com/detourhq/detour/pkg/cluster"
)

// becomes is what somebody else does to the rule.
func (w *world) becomes(f Forward) {
	r := w.aws.Rules[front]
	r.Actions = localaws.AsRead([]types.Action{action(f)})
	w.aws.Rules[front] = r
}

func TestAForeignChangeIsReportedAndLeft(t *testing.T) {
	changed := forwardTo(0, blue, 0, green, 10, other, 30, detour, 60)
	w := newWorld(t, action(both()))
	w.pause("blue", cluster.Redirect)
	w.pass(Options{})
	w.becomes(changed)
	writes := len(w.aws.Writes)

	st := w.state(Options{})
	assert.Equal(t, Foreign, st.State)
	assert.Equal(t, Moved, st.Was, "the change of state is an event")
	assert.Equal(t, Foreign, w.state(Options{}).Was)
	w.resume("blue")
	assert.Equal(t, Foreign, w.state(Options{}).State, "the redirect function still has weight")
	assert.Len(t, w.aws.Writes, writes)

	assert.Equal(t, Resting, w.state(Options{Adopt: true}).State)
	w.is(changed, nil)
	assert.Empty(t, w.memory)
}

func TestAnAdoptedRuleRestsOnWhatItWas(t *testing.T) {
	w := newWorld(t, action(both()))
	w.pause("blue", cluster.Redirect)
	w.pass(Options{})
	stack := forwardTo(0, blue, 5, other, 5)
	w.becomes(stack)
	assert.Equal(t, Foreign, w.state(Options{}).State)
	assert.Equal(t, Moved, w.state(Options{Adopt: true}).State)
	w.is(forwardTo(0, blue, 0, other, 5, detour, 5), claim("blue", "0000000000000001=5 0000000000000003=5 sticky=0"))
	w.resume("blue")
	w.pass(Options{})
	w.is(stack, nil)
}

func TestAStackUpdateThatLeavesNothingOfOursNeedsNobodyAfterTheResume(t *testing.T) {
	w := newWorld(t, action(both()))
	w.pause("blue", cluster.Redirect)
	w.pass(Options{})
	w.becomes(forwardTo(0, other, 1)) // even the target groups of the tag are gone
	w.memory = Memory{front: {State: Moved}}
	assert.Equal(t, Foreign, w.state(Options{}).State)
	w.resume("blue")
	assert.Equal(t, Resting, w.state(Options{}).State)
	w.is(forwardTo(0, other, 1), nil)
	assert.Empty(t, w.memory)
}

func TestWhoeverPutsARuleBackIsContestedInTheEnd(t *testing.T) {
	w := newWorld(t, action(both()))
	w.pause("blue", cluster.Redirect)
	for range maxWrites {
		assert.Equal(t, Moved, w.state(Options{}).State)
		w.becomes(both())
	}
	first := w.now.Add(-(maxWrites - 1) * time.Second)
	writes := len(w.aws.Writes)
	assert.Equal(t, Contested, w.state(Options{}).State)
	w.now = first.Add(writesWindow - time.Second - time.Millisecond)
	assert.Equal(t, Contested, w.state(Options{}).State)
	assert.Len(t, w.aws.Writes, writes)
	w.now = first.Add(writesWindow - time.Second)
	assert.Equal(t, Moved, w.state(Options{}).State, "the first write is ten minutes old")
}

func TestANewPauseOfAContestedRuleIsWritten(t *testing.T) {
	w := newWorld(t, action(forwardTo(0, blue, 1, green, 1, other, 1)))
	w.node("o1", "other")
	w.pause("blue", cluster.Redirect)
	for range maxWrites {
		w.pass(Options{})
		w.becomes(forwardTo(0, blue, 1, green, 1, other, 1))
	}
	assert.Equal(t, Contested, w.state(Options{}).State)
	w.pause("green", cluster.Redirect)
	for range maxWrites {
		assert.Equal(t, Moved, w.state(Options{}).State)
		w.becomes(forwardTo(0, blue, 1, green, 1, other, 1))
	}
	assert.Equal(t, Contested, w.state(Options{}).State)
}

func TestStickinessThatSomebodySwitchesOnIsForeign(t *testing.T) {
	w := newWorld(t, action(both()))
	w.pause("blue", cluster.Redirect)
	w.pass(Options{})
	w.becomes(forwardTo(3600, blue, 0, green, 40, detour, 60))
	assert.Equal(t, Foreign, w.state(Options{}).State)
}

func TestAnOperatorContestsNothing(t *testing.T) {
	w := newWorld(t, action(both()))
	for range 3 * maxWrites {
		w.pause("blue", cluster.Redirect)
		assert.Equal(t, Moved, w.state(Options{}).State)
		w.resume("blue")
		assert.Equal(t, Resting, w.state(Options{}).State)
	}
}

func TestALostRegistryLeavesARuleMovedUntilItIsRestored(t *testing.T) {
	lose := func(t *testing.T) *world {
		w := newWorld(t, action(both()))
		w.pause("blue", cluster.Redirect)
		w.pass(Options{})
		w.memory = Memory{}
		return w
	}
	moved := forwardTo(0, blue, 0, green, 40, detour, 60)
	tags := claim("blue", "0000000000000001=60 0000000000000002=40 sticky=3600")
	t.Run("the pause is lost too", func(t *testing.T) {
		w := lose(t)
		w.resume("blue")
		assert.Equal(t, Foreign, w.state(Options{}).State)
		assert.Equal(t, Foreign, w.state(Options{}).State)
		w.is(moved, tags)
		w.aws.Health[blue] = []types.TargetHealthStateEnum{types.TargetHealthStateEnumInitial}
		assert.Equal(t, Pending, w.state(Options{Restore: true}).State)
		w.aws.Health = nil
		assert.Equal(t, Resting, w.state(Options{}).State, "a sweep goes on with it")
		w.is(both(), nil)
	})
	t.Run("the groups are lost too", func(t *testing.T) {
		w := lose(t)
		w.snapshot.Groups, w.snapshot.Pauses, w.config.TargetGroup = nil, nil, ""
		w.rules = nil
		assert.Empty(t, w.pass(Options{}).Rules, "nobody knows the rule")
		assert.Equal(t, Foreign, w.state(Options{Only: []string{front}}).State)
		w.aws.Health[blue] = []types.TargetHealthStateEnum{types.TargetHealthStateEnumInitial}
		assert.Equal(t, Pending, w.state(Options{Only: []string{front}, Restore: true}).State)
		w.aws.Health = nil
		assert.Equal(t, Resting, w.state(Options{}).State, "it is remembered now")
		w.is(both(), nil)
	})
	t.Run("the pause is there again", func(t *testing.T) {
		w := lose(t)
		assert.Equal(t, Moved, w.state(Options{}).State)
		w.resume("blue")
		w.pass(Options{})
		w.is(both(), nil)
	})
	t.Run("somebody has removed the tags, and memory is there", func(t *testing.T) {
		w := newWorld(t, action(both()))
		w.pause("blue", cluster.Redirect)
		w.pass(Options{})
		clear(w.aws.Tags[front])
		assert.Equal(t, Moved, w.state(Options{}).State)
		w.is(moved, tags)
	})
}

func TestAGroupThatIsRemovedWhilePausedLeavesItsRuleAtRest(t *testing.T) {
	w := newWorld(t, action(both()))
	w.pause("blue", cluster.Redirect)
	w.pass(Options{})
	delete(w.snapshot.Groups, "blue")
	delete(w.snapshot.Groups, "green")
	assert.Equal(t, Resting, w.state(Options{}).State)
	w.is(both(), nil)
	assert.Empty(t, w.memory)
}

// Where nobody says any more to where a weight was led, the rule does.
func TestAGroupThatIsRemovedWhilePausedWaitsForItsTargets(t *testing.T) {
	w := newWorld(t, action(both()))
	w.node("g2", "other")
	w.snapshot.Groups["blue"] = cluster.Group{ID: "blue", TargetGroup: blue, Rules: []string{front}, DetourTargetGroup: detour}
	w.config.TargetGroup = ""
	w.pause("blue", cluster.Redirect)
	w.pass(Options{})
	delete(w.snapshot.Groups, "blue")
	w.aws.Health[blue] = []types.TargetHealthStateEnum{types.TargetHealthStateEnumInitial}
	assert.Equal(t, Pending, w.state(Options{}).State)
	w.snapshot.Groups["green"] = cluster.Group{ID: "green", TargetGroup: green, Rules: []string{front}, DetourTargetGroup: detour}
	w.pause("green", cluster.Redirect)
	assert.Equal(t, Pending, w.state(Options{}).State)
	w.is(forwardTo(0, blue, 0, green, 0, detour, 100), w.aws.Tags[front])
	w.resume("green")
	w.aws.Health = nil
	assert.Equal(t, Resting, w.state(Options{}).State)
	w.is(both(), nil)
}

func TestATagThatCannotBeReadIsForeign(t *testing.T) {
	for name, text := range map[string]string{"no list": "blue", "an unknown target group": "00000000000000ff=1 sticky=0"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, action(forwardTo(0, blue, 0, detour, 1)))
			w.config.TargetGroup = "" // nobody knows either whose weight this is
			w.aws.Tags[front] = claim("blue", text)
			assert.Equal(t, Foreign, w.state(Options{}).State)
			assert.Equal(t, Foreign, w.state(Options{Restore: true}).State)
			assert.Empty(t, w.aws.Writes)
			w.becomes(forwardTo(0, blue, 1))
			assert.Equal(t, Resting, w.state(Options{}).State, "nothing of ours is left")
			w.is(forwardTo(0, blue, 1), nil)
		})
	}
}

func TestRulesOfOthersAreLeft(t *testing.T) {
	deploys := func(context.Context, cluster.Group, string) (string, error) {
		return "deployment d-1 is in progress", nil
	}
	fails := func(context.Context, cluster.Group, string) (string, error) { return "", errors.New("no route") }
	denied := func(context.Context, cluster.Group, string) (string, error) {
		return "", localaws.Error("AccessDeniedException", "no")
	}
	for _, row := range []struct {
		name string
		tags map[string]string
		busy func(context.Context, cluster.Group, string) (string, error)
		want State
	}{
		{"of the load balancer controller", map[string]string{"elbv2.k8s.aws/cluster": "x"}, nil, Foreign},
		{"of an ingress", map[string]string{"ingress.k8s.aws/resource": "x"}, nil, Foreign},
		{"of another cluster of Detour", map[string]string{clusterTag: "us"}, nil, Foreign},
		{"of CloudFormation are not its own", map[string]string{"aws:cloudformation:stack-name": "x"}, nil, Moved},
		{"during a deployment", nil, deploys, Foreign},
		{"when nobody can tell", nil, fails, Pending},
		{"when nobody may ask", nil, denied, Denied},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, action(both()))
			w.config.Busy = row.busy
			w.aws.Tags[front] = row.tags
			w.pause("blue", cluster.Redirect)
			report, err := w.try(Options{})
			assert.Equal(t, row.name == "when nobody can tell", errors.Is(err, ErrUnreachable), "and that is told: %v", err)
			assert.Equal(t, row.want, report.Rules[0].State)
			assert.Equal(t, row.want == Foreign && row.busy == nil, report.Rules[0].Stuck, "a deployment passes")
			if row.want != Moved {
				require.Empty(t, w.aws.Writes)
			}
		})
	}
}

func TestWhatBecomesOfARuleIsToldOnce(t *testing.T) {
	w := newWorld(t, action(both()))
	event := func() string { return w.state(Options{}).Event }
	assert.Empty(t, event())
	w.pause("blue", cluster.Redirect)
	assert.Equal(t, "rule.moved", event())
	assert.Empty(t, event())
	w.aws.Health[blue] = []types.TargetHealthStateEnum{types.TargetHealthStateEnumInitial}
	w.resume("blue")
	assert.Empty(t, event(), "it waits for its targets")
	w.pause("blue", cluster.Redirect)
	assert.Empty(t, event(), "it was moved all the time")
	w.aws.Health = nil
	w.becomes(forwardTo(0, blue, 1, other, 7))
	assert.Equal(t, "rule.foreign", event())
	assert.Empty(t, event())
	assert.Equal(t, "rule.moved", w.state(Options{Adopt: true}).Event)
	for range maxWrites {
		w.becomes(forwardTo(0, blue, 1, other, 7))
		w.pass(Options{})
	}
	w.becomes(forwardTo(0, blue, 1, other, 7))
	assert.Equal(t, Contested, w.memory[front].Told)
	assert.Empty(t, event())
	w.resume("blue")
	assert.Equal(t, "rule.restored", event())
	assert.Empty(t, event())
}
