package rules

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/localaws"
	"github.com/detourhq/detour/pkg/cluster"
)

// fleet has n groups, each with a rule of its own, and pauses them all.
func fleet(t *testing.T, n int) *world {
	w := newWorld(t, scalar(blue))
	for i := range n {
		name, arn := fmt.Sprintf("zone-%02d", i), ruleARN(100+i)
		tg := targetGroup(name, 100+i)
		w.group(name, tg, arn)
		w.aws.Rules[arn] = types.Rule{RuleArn: &arn, Actions: localaws.AsRead([]types.Action{scalar(tg)})}
		w.pause(name, cluster.Redirect)
	}
	return w
}

// bucket is AWS's: it holds 20 tokens, and three more come each second.
func bucket(now func() time.Time) func() bool {
	tokens, last := 20.0, now()
	return func() bool {
		tokens = min(20, tokens+3*now().Sub(last).Seconds())
		last = now()
		if tokens < 1 {
			return false
		}
		tokens--
		return true
	}
}

func TestSixtyGroupsAtOnceAreMovedWithinTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fleet(t, 60)
		w.config.WritesPerSecond = 0 // the default
		take, throttled := bucket(time.Now), 0
		var at []time.Time
		w.aws.Tokens = func() bool {
			ok := take()
			if !ok {
				throttled++
			}
			at = append(at, time.Now())
			return ok
		}
		for _, st := range w.pass(Options{}).Rules {
			if st.ARN != front {
				assert.Equal(t, Moved, st.State, st.Why)
			}
		}
		assert.Zero(t, throttled)
		require.Len(t, at, 120, "one AddTags and one ModifyRule each")
		for i := 2; i < len(at); i++ {
			assert.GreaterOrEqual(t, at[i].Sub(at[i-2]), 500*time.Millisecond)
		}
		assert.LessOrEqual(t, at[119].Sub(at[0]), 60*time.Second)
		calls := w.aws.Calls
		w.pass(Options{})
		assert.Equal(t, calls+8, w.aws.Calls, "61 rules in four batches, with their tags, and no write")
	})
}

func TestAPassThatIsThrottledWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, action(both()))
		refusals := 3
		w.aws.Tokens = func() bool { refusals--; return refusals < 0 }
		w.pause("blue", cluster.Redirect)
		begin := time.Now()
		assert.Equal(t, Moved, w.state(Options{}).State)
		assert.GreaterOrEqual(t, time.Since(begin), 7*throttlePause)
	})
}

func TestAPassThatIsThrottledEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fleet(t, 3)
		w.aws.Tokens = func() bool { return false }
		r := New(w.aws, w.config, time.Now, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		report, err := r.Reconcile(ctx, w.snapshot, w.now, nil, Options{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.LessOrEqual(t, time.Since(begin), time.Second)
		for _, st := range report.Rules[1:] {
			assert.Equal(t, Pending, st.State)
		}
	})
}

// What AWS did not take was changed back by nobody.
func TestAWriteThatAWSDidNotTakeContestsNothing(t *testing.T) {
	for name, refusal := range map[string]error{
		"no answer": errors.New("dial tcp: i/o timeout"),
		"throttled": localaws.Error("ThrottlingException", "Rate exceeded"),
		"a fault":   localaws.Error("ServiceUnavailable", "try later"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, action(both()))
				w.pause("blue", cluster.Redirect)
				w.aws.Before = func(verb, _ string) error {
					if verb == "ModifyRule" {
						return refusal
					}
					return nil
				}
				for range 2 * maxWrites {
					report, err := w.try(Options{})
					require.ErrorIs(t, err, ErrUnreachable)
					assert.Equal(t, Pending, report.Rules[0].State)
				}
				w.aws.Before = nil
				assert.Equal(t, Moved, w.state(Options{}).State)
			})
		})
	}
}

// A pass over sixty rules ends soon when AWS takes no more calls: whoever goes on
// with the next rule only makes it worse.
func TestAThrottledCallEndsThePass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fleet(t, 60)
		w.aws.Tokens = func() bool { return false }
		begin := time.Now()
		report, err := w.try(Options{})
		require.ErrorIs(t, err, ErrUnreachable)
		assert.Less(t, time.Since(begin), 2*throttlePause<<(throttleTries-1))
		for _, st := range report.Rules[1:] {
			assert.Equal(t, Pending, st.State)
		}
		w.aws.Tokens = nil
		for _, st := range w.pass(Options{}).Rules[1:] {
			assert.Equal(t, Moved, st.State)
		}
	})
}

func TestAWriteIsReadBackThoughLate(t *testing.T) {
	for _, row := range []struct {
		name string
		lag  int
		want State
	}{
		{"shown after a while", 3, Moved},
		{"not shown in time", 1000, Pending},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, action(both()))
				w.aws.Lag = row.lag
				w.pause("blue", cluster.Redirect)
				assert.Equal(t, row.want, w.state(Options{}).State)
				w.is(forwardTo(0, blue, 0, green, 40, detour, 60), w.aws.Tags[front])
				w.aws.Lag = 0
				assert.Equal(t, Moved, w.state(Options{}).State)
			})
		})
	}
}

func TestAnAWSThatDoesNotAnswerCostsOneCall(t *testing.T) {
	for _, verb := range []string{"DescribeRules", "DescribeTags", "DescribeTargetGroupAttributes", "AddTags", "ModifyRule"} {
		t.Run(verb, func(t *testing.T) {
			w := fleet(t, 5)
			tries := 0
			w.aws.Before = func(v, _ string) error {
				if v == verb {
					tries++
					return errors.New("dial tcp: i/o timeout")
				}
				return nil
			}
			report, err := w.try(Options{})
			require.ErrorIs(t, err, ErrUnreachable)
			assert.Equal(t, 1, tries)
			assert.Equal(t, Resting, report.Rules[0].State, "nothing is wanted of it")
			for _, st := range report.Rules[1:] {
				assert.Equal(t, Pending, st.State)
			}
			w.aws.Before = nil
			for _, st := range w.pass(Options{}).Rules[1:] {
				assert.Equal(t, Moved, st.State, "%s was %s", st.ARN, strings.Join(w.aws.Writes, "\n"))
			}
		})
	}
}

func TestOnlySoManyRulesAreChanged(t *testing.T) {
	w := fleet(t, 5)
	states := make(map[State]int)
	for _, st := range w.pass(Options{MaxRules: 3}).Rules[1:] {
		states[st.State]++
	}
	assert.Equal(t, map[State]int{Moved: 3, Pending: 2}, states)
	report := w.pass(Options{Only: []string{ruleARN(104), ruleARN(104)}})
	require.Len(t, report.Rules, 1)
	assert.Equal(t, Moved, report.Rules[0].State)
	assert.Len(t, report.Memory, 5, "those that were not looked at are remembered too")
}
