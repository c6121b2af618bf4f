package wait

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/pkg/cluster"
)

// registry answers looks by synctest's clock, which is the registry's too.
func registry(tell func(l *command.Look, passed time.Duration) error) func(context.Context) (*command.Look, error) {
	start := time.Now()
	return func(context.Context) (*command.Look, error) {
		passed := time.Since(start)
		l := &command.Look{Time: began.Add(passed), Pause: &cluster.Pause{Epoch: epoch}}
		return l, tell(l, passed)
	}
}

func TestAWaitEnds(t *testing.T) {
	for _, row := range []struct {
		name    string
		timeout time.Duration
		tell    func(l *command.Look, f *cluster.Figures, passed time.Duration) error
		state   State
		waited  time.Duration
		why     string
	}{
		{"when the nodes are quiet", time.Minute, func(*command.Look, *cluster.Figures, time.Duration) error { return nil }, Done, 2 * time.Second, ""},
		{"at its limit, to the millisecond (kedacore/http-add-on#1449)", 2500 * time.Millisecond, func(_ *command.Look, f *cluster.Figures, _ time.Duration) error {
			f.InFlight = 5
			return nil
		}, TimedOut, 2500 * time.Millisecond, ""},
		{"at a limit shorter than a look's interval", 300 * time.Millisecond, func(*command.Look, *cluster.Figures, time.Duration) error { return nil }, TimedOut, 300 * time.Millisecond, ""},
		{"after looks that failed, which prove nothing", time.Minute, func(_ *command.Look, f *cluster.Figures, passed time.Duration) error {
			f.Arrivals = int64(passed.Seconds())
			if passed > 20*time.Second {
				f.Arrivals = 20
			} else if passed > 2*time.Second {
				return errors.New("refused")
			}
			return nil
		}, Done, 23 * time.Second, ""},
		{"at its limit, though the registry never answers", 5 * time.Second, func(*command.Look, *cluster.Figures, time.Duration) error { return errors.New("refused") }, TimedOut, 5 * time.Second, "refused"},
		{"at once where asking again is of no use", time.Minute, func(_ *command.Look, _ *cluster.Figures, passed time.Duration) error {
			if passed >= time.Second {
				return fmt.Errorf("%w: no such command", ErrFinal)
			}
			return nil
		}, Unproven, time.Second, "no such command"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var shown []Result
				r := Run(t.Context(), registry(func(l *command.Look, passed time.Duration) error {
					_, f := node(l, "n1")
					return row.tell(l, f, passed)
				}), Options{Pause: pauseIn(cluster.Redirect), Quiet: 2 * time.Second, Timeout: row.timeout, Show: func(r Result) { shown = append(shown, r) }})
				assert.Equal(t, row.state, r.State)
				assert.Equal(t, row.waited.Milliseconds(), r.WaitedMS)
				assert.Contains(t, r.Why, row.why)
				assert.GreaterOrEqual(t, len(shown), int(row.waited/lookEvery)+1, "after each look")
				assert.Equal(t, r, shown[len(shown)-1], "and at the end")
			})
		})
	}
}

// A registry that fails over may come back empty, before the nodes' agents mend it.
func TestWhatIsMissingAfterAnOutageIsNotGoneYet(t *testing.T) {
	for _, row := range []struct {
		name string
		lost func(*command.Look)
	}{
		{"a node", func(l *command.Look) { l.Nodes = nil }},
		{"the pause", func(l *command.Look) { l.Pause = nil }},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := Run(t.Context(), registry(func(l *command.Look, passed time.Duration) error {
					_, f := node(l, "n1")
					f.InFlight = 1
					switch second := passed / time.Second; {
					case second == 1, second == 10:
						row.lost(l)
					case second > 1 && second < 10:
						return errors.New("refused")
					}
					return nil
				}), Options{Pause: pauseIn(cluster.Redirect), Timeout: 15500 * time.Millisecond})
				assert.Equal(t, TimedOut, r.State)
				assert.Equal(t, []string{"node n1: 1 in flight"}, r.Left())
			})
		})
	}
}

func TestARegistryThatHangsIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		r := Run(t.Context(), func(ctx context.Context) (*command.Look, error) {
			looks++
			<-ctx.Done()
			return nil, ctx.Err()
		}, Options{Timeout: 15 * time.Second})
		assert.Equal(t, TimedOut, r.State)
		assert.Equal(t, int64(15_000), r.WaitedMS)
		assert.Equal(t, 2, looks)
	})
}

func TestAWaitIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		r := Run(ctx, registry(func(l *command.Look, _ time.Duration) error {
			_, f := node(l, "n1")
			f.InFlight = 1
			return nil
		}), Options{Pause: pauseIn(cluster.Redirect), Timeout: time.Minute})
		assert.Equal(t, Interrupted, r.State)
		assert.Equal(t, int64(1500), r.WaitedMS)
		assert.Equal(t, "interrupted: 0 of 1 nodes quiet, 1 in flight, 0 sessions", r.String())
	})
}
