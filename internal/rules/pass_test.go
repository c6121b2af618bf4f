package rules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestADryRunWritesNothing(t *testing.T) {
	w := newWorld(t, action(both()))
	w.pause("blue", cluster.Redirect)
	st := w.state(Options{DryRun: true})
	assert.Equal(t, Pending, st.State)
	assert.Equal(t, &Change{both(), forwardTo(0, blue, 0, green, 40, detour, 60)}, st.Change)
	assert.Empty(t, w.aws.Writes)
	assert.Empty(t, w.memory)

	w.pass(Options{})
	writes := len(w.aws.Writes)
	w.resume("blue")
	st = w.state(Options{DryRun: true})
	assert.Equal(t, &Change{forwardTo(0, blue, 0, green, 40, detour, 60), both()}, st.Change)
	assert.Len(t, w.aws.Writes, writes)
}

func TestARegistryThatMovedOnStopsTheWrites(t *testing.T) {
	for moves := range 3 {
		t.Run(fmt.Sprintf("after %d writes", moves), func(t *testing.T) {
			w := fleet(t, 3)
			asked := 0
			epoch := func(context.Context) (int64, error) {
				asked++
				if asked > moves {
					return w.snapshot.Epoch + 1, nil
				}
				return w.snapshot.Epoch, nil
			}
			report := w.pass(Options{Epoch: epoch})
			assert.True(t, report.Overtaken)
			assert.Len(t, w.aws.Writes, moves)
			assert.Equal(t, Pending, report.Rules[3].State)
			for range 2 * maxWrites {
				w.pass(Options{Epoch: func(context.Context) (int64, error) { return 0, nil }})
			}
			for _, st := range w.pass(Options{}).Rules[1:] {
				assert.Equal(t, Moved, st.State, "what was not written was not tried: %s", st.Why)
			}
		})
	}
}

func TestWhatTheCallerCannotDoEndsThePass(t *testing.T) {
	broken := errors.New("registry lost")
	for name, o := range map[string]Options{
		"the epoch is not read": {Epoch: func(context.Context) (int64, error) { return 0, broken }},
		"memory is not stored":  {Save: func(context.Context, string, RuleMemory) error { return broken }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, action(both()))
			w.pause("blue", cluster.Redirect)
			report, err := w.try(o)
			require.ErrorIs(t, err, broken)
			assert.Equal(t, Pending, report.Rules[0].State)
			assert.Empty(t, w.aws.Writes)
		})
	}
}

func TestARuleThatIsDeletedIsNamedAndForgotten(t *testing.T) {
	w := newWorld(t, action(both()))
	w.pause("blue", cluster.Redirect)
	w.aws.Before = func(verb, _ string) error {
		if verb == "AddTags" {
			delete(w.aws.Rules, front) // under our hands
		}
		return nil
	}
	st := w.state(Options{})
	assert.Equal(t, Refused, st.State)
	assert.Contains(t, st.Why, "does not exist")
	w.aws.Before = nil
	assert.Equal(t, Refused, w.state(Options{}).State)
	clear(w.snapshot.Groups)
	w.pass(Options{})
	assert.Empty(t, w.memory)
}

func TestARuleThatIsGoneKeepsNoOtherFromBeingMoved(t *testing.T) {
	w := fleet(t, 5)
	delete(w.aws.Rules, ruleARN(102))
	w.group("odd", blue, "no ARN at all")
	for _, st := range w.pass(Options{}).Rules {
		switch st.ARN {
		case front:
			assert.Equal(t, Resting, st.State)
		case ruleARN(102), "no ARN at all":
			assert.Equal(t, Refused, st.State)
		default:
			assert.Equal(t, Moved, st.State)
		}
	}
}

// A rule that somebody changes while it is its turn is not written over.
func TestAChangeBetweenReadAndWriteIsSeen(t *testing.T) {
	w := newWorld(t, action(both()))
	w.pause("blue", cluster.Redirect)
	stack := forwardTo(0, blue, 1, other, 1)
	st := w.state(Options{Epoch: func(context.Context) (int64, error) {
		w.becomes(stack)
		return w.snapshot.Epoch, nil
	}})
	assert.Equal(t, Pending, st.State)
	w.is(stack, nil)
}

// Wherever a pass is cut off, the next one goes on; what is remembered is what was
// saved before the write, in JSON.
func TestAPassMayBeCutOffAnywhere(t *testing.T) {
	for cut := range 5 {
		t.Run(fmt.Sprintf("after %d writes", cut), func(t *testing.T) {
			w := newWorld(t, action(both()))
			stored := Memory{}
			save := func(_ context.Context, arn string, m RuleMemory) error {
				raw, err := json.Marshal(Memory{arn: m})
				require.NoError(t, err)
				return json.Unmarshal(raw, &stored)
			}
			writes := 0
			w.aws.Before = func(verb, _ string) error {
				if verb == "AddTags" || verb == "ModifyRule" || verb == "RemoveTags" {
					if writes++; writes > cut {
						return errors.New("the function ended")
					}
				}
				return nil
			}
			cutOff := func() { // the report is lost with the function
				if _, err := w.try(Options{Save: save}); err != nil {
					w.memory = stored
				}
			}
			w.pause("blue", cluster.Redirect)
			cutOff()
			w.resume("blue")
			cutOff()
			w.aws.Before = nil
			assert.Equal(t, Resting, w.state(Options{Save: save}).State)
			w.is(both(), nil)
		})
	}
}

// Two groups share a rule. Whatever is paused, resumed, put back, lost and tried
// in between, with nothing paused the rule ends as it began.
func TestAnyOrderOfPausesEndsAtRest(t *testing.T) {
	for seed := range uint64(150) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		rest := forwardTo(int32(rnd.IntN(3)*60), blue, rnd.IntN(3), green, 1+rnd.IntN(999), other, rnd.IntN(3)*400)
		w := newWorld(t, action(rest))
		w.aws.Sticky[blue] = rest.Sticky > 0 && rnd.IntN(2) == 0
		for range 12 {
			w.step(rnd, rest)
		}
		w.resume("blue")
		w.resume("green")
		w.now = w.now.Add(writesWindow)
		st := w.state(Options{Restore: true})
		require.Equal(t, Resting, st.State, "seed %d: %s", seed, st.Why)
		w.is(rest, nil)
		require.Empty(t, w.memory, "seed %d", seed)
	}
}

func (w *world) step(rnd *rand.Rand, rest Forward) {
	group := []string{"blue", "green"}[rnd.IntN(2)]
	modes := []cluster.Mode{cluster.Redirect, cluster.Hold, cluster.Drain, cluster.Stop}
	switch rnd.IntN(8) {
	case 0, 1, 2:
		w.pause(group, modes[rnd.IntN(len(modes))])
	case 3, 4:
		w.resume(group)
	case 5:
		w.becomes(rest) // a stack update
	case 6:
		w.memory = Memory{}
	default:
		w.aws.Before = func(string, string) error {
			if rnd.IntN(4) == 0 {
				return errors.New("connection reset")
			}
			return nil
		}
	}
	_, err := w.try(Options{Force: rnd.IntN(4) == 0})
	w.aws.Before = nil
	if err != nil {
		require.ErrorIs(w.t, err, ErrUnreachable)
	}
}
