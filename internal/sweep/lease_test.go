package sweep

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// fragile is a registry with something in the way of each call of a sweep.
type fragile struct {
	*cluster.Registry
	before, after func(call string) error
}

func through[T any](f fragile, call string, do func() (T, error)) (T, error) {
	var none T
	if err := f.before(call); err != nil {
		return none, err
	}
	v, err := do()
	if err != nil {
		return v, err
	}
	if err := f.after(call); err != nil {
		return none, err
	}
	return v, nil
}

func (f fragile) Notes(ctx context.Context) (cluster.SweepNotes, error) {
	return through(f, "notes", func() (cluster.SweepNotes, error) { return f.Registry.Notes(ctx) })
}

func (f fragile) Snapshot(ctx context.Context, wall func() time.Time) (*cluster.Snapshot, error) {
	return through(f, "snapshot", func() (*cluster.Snapshot, error) { return f.Registry.Snapshot(ctx, wall) })
}

func (f fragile) Stamp(ctx context.Context, l cluster.Lease, nodes []cluster.Node) error {
	_, err := through(f, "stamp", func() (any, error) { return nil, f.Registry.Stamp(ctx, l, nodes) })
	return err
}

func (f fragile) Tidy(ctx context.Context, l cluster.Lease, n cluster.SweepNotes, targets []cluster.Target) ([]string, error) {
	return through(f, "tidy", func() ([]string, error) { return f.Registry.Tidy(ctx, l, n, targets) })
}

func (f fragile) Prune(ctx context.Context, l cluster.Lease, nodes []cluster.Node) ([]string, error) {
	return through(f, "prune", func() ([]string, error) { return f.Registry.Prune(ctx, l, nodes) })
}

func (f fragile) ReleaseLease(ctx context.Context, l cluster.Lease) error {
	_, err := through(f, "release", func() (any, error) { return nil, f.Registry.ReleaseLease(ctx, l) })
	return err
}

func nothing(string) error { return nil }

// busy is a world with work for every step of a sweep.
func busy(t *testing.T) *world {
	t.Helper()
	nodes := nodeServer(t)
	w := newWorld(t)
	w.register("well", "ahead", "silent")
	w.registerAs(cluster.Descriptor{ID: "answers", Probe: nodes.URL + "/200"})
	_, err := w.registry.Pause(t.Context(), cluster.All, cluster.PauseRequest{For: every})
	require.NoError(t, err)
	w.sweep(usual)
	w.pass(every)
	w.pulse("well")
	w.heard("ahead", -time.Hour)
	w.heard("silent", time.Hour)
	w.heard("answers", time.Hour)
	return w
}

// calls are those of a sweep of a busy world, in order.
var calls = []string{"notes", "snapshot", "stamp", "stamp", "tidy", "prune", "tidy", "release"}

func TestASecondSweeperIsTurnedAway(t *testing.T) {
	w := busy(t)
	second := func(call string) error {
		if call != "prune" {
			return nil
		}
		before := w.dump()
		r := w.sweep(usual)
		assert.Equal(t, Result{Held: true}, r)
		assert.Equal(t, before, w.dump())
		return nil
	}
	r, err := newSweeper(fragile{w.registry, second, nothing}, usual).Sweep(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"silent"}, r.PrunedIDs)
	assert.False(t, w.sweep(usual).Held, "the lease was given up")
}

func TestASweeperThatWakesLateChangesNothing(t *testing.T) {
	for _, asleep := range []string{"stamp", "tidy", "prune"} {
		t.Run("asleep before "+asleep, func(t *testing.T) {
			w := busy(t)
			var left map[string]any
			sleep := func(call string) error {
				if call == asleep && left == nil {
					w.pass(usual.LeaseTTL + time.Millisecond)
					assert.False(t, w.sweep(usual).Held)
					w.pulse("well")
					left = w.dump()
				}
				return nil
			}
			_, err := newSweeper(fragile{w.registry, sleep, nothing}, usual).Sweep(t.Context())
			require.ErrorIs(t, err, cluster.ErrFenced)
			assert.Equal(t, left, w.dump())
		})
	}
}

var errCut = errors.New("cut off")

// A sweeper that ends before or after any of its calls leaves a registry in which
// nobody is lost and from which the next sweep, when the lease is over, does the
// rest.
func TestASweepMayBeCutOffAnywhere(t *testing.T) {
	for i, at := range calls {
		for when, pick := range map[string]func(f *fragile) *func(string) error{
			"before": func(f *fragile) *func(string) error { return &f.before },
			"after":  func(f *fragile) *func(string) error { return &f.after },
		} {
			t.Run(fmt.Sprintf("%s call %d, %s", when, i, at), func(t *testing.T) {
				w := busy(t)
				var seen []string
				f := fragile{w.registry, nothing, nothing}
				*pick(&f) = func(call string) error {
					if seen = append(seen, call); len(seen) > i {
						return errCut
					}
					return nil
				}
				_, err := newSweeper(f, usual).Sweep(t.Context())
				assert.Equal(t, at == "release", err == nil)
				assert.Equal(t, calls[:i+1], seen[:i+1])

				w.pass(usual.LeaseTTL)
				w.pulse("well", "ahead", "answers")
				assert.Empty(t, w.sweep(usual).Withheld)
				assert.Equal(t, []string{"ahead", "answers", "well"}, w.registered())
				assert.Empty(t, w.snapshot().Pauses)
				assert.Equal(t, w.snapshot().Epoch, w.notes().Epoch)
			})
		}
	}
}

func TestACancelledSweepPrunesNobodyAndGivesTheLeaseUp(t *testing.T) {
	w := busy(t)
	ctx, cancel := context.WithCancel(t.Context())
	stop := func(call string) error {
		if call == "stamp" {
			cancel()
		}
		return nil
	}
	_, err := newSweeper(fragile{w.registry, nothing, stop}, usual).Sweep(ctx)
	require.ErrorIs(t, err, context.Canceled)
	assert.Len(t, w.registered(), 4)
	assert.False(t, w.sweep(usual).Held)
}

func TestTheLeaseEndsByItself(t *testing.T) {
	w := newWorld(t)
	_, err := w.registry.AcquireLease(t.Context(), "dead", usual.LeaseTTL)
	require.NoError(t, err)
	w.pass(usual.LeaseTTL - time.Millisecond)
	assert.True(t, w.sweep(usual).Held)
	w.pass(time.Millisecond)
	assert.False(t, w.sweep(usual).Held)
}

func TestARegistryOutOfReachIsAnError(t *testing.T) {
	w := newWorld(t)
	w.server.SetError("LOADING")
	_, err := w.sweeper(usual).Sweep(t.Context())
	require.ErrorContains(t, err, "sweep: acquire lease")
}

func TestNoLeaseTTLMeansThirtySeconds(t *testing.T) {
	w := newWorld(t)
	config := usual
	config.LeaseTTL = 0
	var ttl time.Duration
	look := func(string) error { ttl = w.server.TTL(prefix + ":lease"); return nil }
	_, err := newSweeper(fragile{w.registry, look, nothing}, config).Sweep(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 30*time.Second, ttl)
}
