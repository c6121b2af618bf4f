package sweep

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/pkg/cluster"
)

// A dump of an hour ago brings old pulses, old notes and an old epoch. Whoever
// lives pulses within a timeout of the first sweep and stays; only who does not
// is pruned.
func TestARestoredDumpPrunesNoLivingFleet(t *testing.T) {
	const hour = time.Hour
	ctx := t.Context()
	server := redistest.Start(t)
	raw, r := open(t, server.URL)
	w := &world{t: t, raw: raw, registry: r, time: time.Now(), nodes: make(map[string]cluster.Descriptor)}
	w.register("a", "b", "c", "gone")
	w.sweep(usual)

	// As it was an hour ago, when it was dumped.
	for id := range w.nodes {
		require.NoError(t, raw.ZIncrBy(ctx, prefix+":pulses", -float64(hour.Milliseconds()), id).Err())
	}
	w.rewrite(func(n *cluster.SweepNotes) { n.At = n.At.Add(-hour) })
	require.NoError(t, raw.Save(ctx).Err())

	// What happened since is lost: pulses, sweeps, a fence, a higher epoch.
	w.pulse("a", "b", "c")
	w.register("new")
	assert.Zero(t, w.sweep(usual).Pruned)
	server.Restart()
	require.Equal(t, []string{"a", "b", "c", "gone"}, w.registered())

	first := w.sweep(usual)
	assert.True(t, first.AllStale)
	assert.Equal(t, afterAGap, first.Withheld)
	w.pulse("a")
	assert.Equal(t, soonAfter, w.sweep(usual).Withheld, "one node is back, the others are given time")
	w.pulse("b", "c")
	_, err := r.Pulse(ctx, "new", w.nodes["new"].Generation, nil)
	require.ErrorIs(t, err, cluster.ErrUnknown, "it is told to register again")

	w.rewrite(func(n *cluster.SweepNotes) { n.Hold = n.Hold.Add(-timeout) }) // a pulse timeout later
	assert.Equal(t, []string{"gone"}, w.sweep(usual).PrunedIDs)
	assert.Equal(t, []string{"a", "b", "c"}, w.registered())
}

// rewrite changes what the last sweep left.
func (w *world) rewrite(change func(n *cluster.SweepNotes)) {
	w.t.Helper()
	n := w.notes()
	change(&n)
	l, err := w.registry.AcquireLease(w.t.Context(), "test", time.Minute)
	require.NoError(w.t, err)
	_, err = w.registry.Tidy(w.t.Context(), l, n, nil)
	require.NoError(w.t, err)
	require.NoError(w.t, w.registry.ReleaseLease(w.t.Context(), l))
}

// A flushed registry fills again, and nobody is missed in it.
func TestAFlushedRegistryPrunesNobody(t *testing.T) {
	w := newWorld(t)
	w.register("a", "b", "c")
	w.sweep(usual)
	w.pass(every)
	require.NoError(t, w.raw.FlushDB(t.Context()).Err())
	w.register("b")
	r := w.sweep(usual)
	assert.Equal(t, 1, r.Nodes)
	assert.Zero(t, r.Stale+r.Pruned)
}
