package cluster_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func lease(t *testing.T, r *cluster.Registry, token string) cluster.Lease {
	t.Helper()
	l, err := r.AcquireLease(t.Context(), token, time.Minute)
	require.NoError(t, err)
	return l
}

// overtaken returns a lease that another sweeper has taken over since.
func overtaken(t *testing.T, r *cluster.Registry) cluster.Lease {
	t.Helper()
	late := lease(t, r, "late")
	require.NoError(t, r.ReleaseLease(t.Context(), late))
	assert.Greater(t, lease(t, r, "other").Fence, late.Fence)
	return late
}

func testOneSweeperHoldsTheLease(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	a := lease(t, r, "a")
	_, err := r.AcquireLease(t.Context(), "b", time.Minute)
	require.ErrorIs(t, err, cluster.ErrHeld)
	assert.Equal(t, a, lease(t, r, "a"), "its holder may lengthen it")
	assert.Greater(t, raw.PTTL(t.Context(), prefix+":lease").Val(), 50*time.Second)

	require.NoError(t, r.ReleaseLease(t.Context(), a))
	b := lease(t, r, "b")
	assert.Greater(t, b.Fence, a.Fence)
	require.NoError(t, r.ReleaseLease(t.Context(), a), "giving up what another holds")
	_, err = r.AcquireLease(t.Context(), "c", time.Minute)
	require.ErrorIs(t, err, cluster.ErrHeld, "takes nothing from it")
}

func testASilentNodeIsPruned(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	d := register(t, r, node("n1"))
	register(t, r, node("n2"))
	s := snapshot(t, r)
	gone, err := r.Prune(t.Context(), lease(t, r, "a"), s.Nodes[:1])
	require.NoError(t, err)
	assert.Equal(t, []string{"n1"}, gone)
	after := snapshot(t, r)
	require.Len(t, after.Nodes, 1)
	assert.Greater(t, after.Epoch, s.Epoch)
	assert.Empty(t, after.Broken, "nothing of it is left")
	assert.Zero(t, raw.HLen(t.Context(), prefix+":left").Val(), "there is no tombstone:")
	_, err = r.Pulse(t.Context(), "n1", d.Generation, nil)
	require.ErrorIs(t, err, cluster.ErrUnknown)
	_, _, err = r.Register(t.Context(), d, active)
	assert.NoError(t, err, "if it lives after all it registers again")
}

func testWhoPulsedSinceIsNotPruned(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	for _, id := range []string{"pulsed", "restarted", "silent"} {
		register(t, r, node(id))
		require.NoError(t, raw.ZAdd(t.Context(), prefix+":pulses", redis.Z{Score: 1000, Member: id}).Err())
	}
	read := snapshot(t, r)
	_, err := r.Pulse(t.Context(), "pulsed", read.Nodes[0].Generation, nil)
	require.NoError(t, err)
	changed := node("restarted")
	changed.Version = "2"
	register(t, r, changed)
	require.NoError(t, raw.ZAdd(t.Context(), prefix+":pulses", redis.Z{Score: 1000, Member: "restarted"}).Err())

	gone, err := r.Prune(t.Context(), lease(t, r, "a"), read.Nodes)
	require.NoError(t, err)
	assert.Equal(t, []string{"silent"}, gone)
}

func testALateSweeperChangesNothing(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	register(t, r, node("n1"))
	_, err := r.Pause(t.Context(), cluster.All, cluster.PauseRequest{For: time.Millisecond})
	require.NoError(t, err)
	nodes := snapshot(t, r).Nodes
	late := overtaken(t, r)
	before := dump(t, raw)

	_, err = r.Prune(t.Context(), late, nodes)
	require.ErrorIs(t, err, cluster.ErrFenced)
	require.ErrorIs(t, r.Stamp(t.Context(), late, nodes), cluster.ErrFenced)
	_, err = r.Tidy(t.Context(), late, cluster.SweepNotes{}, []cluster.Target{cluster.All})
	require.ErrorIs(t, err, cluster.ErrFenced)
	assert.Equal(t, before, dump(t, raw))
}

func testAStampIsAPulse(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	register(t, r, node("n1"))
	e := epoch(t, r)
	for _, stamp := range []float64{1000, 4e12} { // long silent, or a century ahead
		require.NoError(t, raw.ZAdd(t.Context(), prefix+":pulses", redis.Z{Score: stamp, Member: "n1"}).Err())
		require.NoError(t, r.Stamp(t.Context(), lease(t, r, "a"), snapshot(t, r).Nodes))
		s := snapshot(t, r)
		assert.InDelta(t, float64(s.Time), float64(s.Nodes[0].Pulse), 10_000)
		assert.Equal(t, e, s.Epoch)
	}
}

func testTidyEndsWhatIsOver(t *testing.T, r *cluster.Registry, _ redis.UniversalClient) {
	ended, lasting, endless := cluster.NodeTarget("a"), cluster.NodeTarget("b"), cluster.NodeTarget("c")
	for target, d := range map[cluster.Target]time.Duration{ended: time.Millisecond, lasting: time.Hour, endless: 0} {
		_, err := r.Pause(t.Context(), target, cluster.PauseRequest{Mode: cluster.Redirect, For: d})
		require.NoError(t, err)
	}
	until := snapshot(t, r).Pauses[ended].Until
	require.Eventually(t, func() bool { now, err := r.Time(t.Context()); return err == nil && now >= until }, time.Second, time.Millisecond)
	notes := cluster.SweepNotes{At: 5, Epoch: 6, AllStale: 7, Hold: 8}
	done, err := r.Tidy(t.Context(), lease(t, r, "a"), notes, []cluster.Target{ended, lasting, endless, cluster.All})
	require.NoError(t, err)
	assert.Equal(t, []string{"node:a"}, done)
	s := snapshot(t, r)
	assert.NotContains(t, s.Pauses, ended)
	assert.Len(t, s.Pauses, 2)
	kept, err := r.Notes(t.Context())
	require.NoError(t, err)
	assert.Equal(t, notes, kept)
}

func testNotesThatCannotBeReadAreTold(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	n, err := r.Notes(t.Context())
	require.NoError(t, err)
	assert.Zero(t, n, "before the first sweep there are none")
	for _, body := range []string{"{", "[]", "{}", `{"at_ms":0}`, `{"at_ms":"5"}`, `{"at_ms":5,"epoch":"x"}`} {
		require.NoError(t, raw.HSet(t.Context(), prefix+":work", "sweep", body).Err())
		n, err = r.Notes(t.Context())
		require.NoError(t, err)
		assert.Equal(t, cluster.SweepNotes{Unreadable: true}, n, body)
	}
}
