package cluster_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func testForgetTakesOldTombstonesOnly(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	require.NoError(t, raw.HSet(t.Context(), prefix+":left", "old", "1-a 1000", "new", "1-b 9000000000000", "bad", "x").Err())
	for i := range 120 { // more than one batch
		require.NoError(t, raw.HSet(t.Context(), prefix+":left", fmt.Sprint("old", i), "1-a 1000").Err())
	}
	late := overtaken(t, r)
	_, err := r.Forget(t.Context(), late)
	require.ErrorIs(t, err, cluster.ErrFenced)
	gone, err := r.Forget(t.Context(), lease(t, r, "other"))
	require.NoError(t, err)
	assert.Len(t, gone, 122)
	assert.Equal(t, []string{"new"}, raw.HKeys(t.Context(), prefix+":left").Val())
	assert.Zero(t, epoch(t, r), "it changes nobody's membership")
}

func testHalfARecordIsMended(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	for _, id := range []string{"whole", "mute"} {
		register(t, r, node(id))
	}
	ctx := t.Context()
	require.NoError(t, raw.ZRem(ctx, prefix+":pulses", "mute").Err())
	require.NoError(t, raw.ZAdd(ctx, prefix+":pulses", redis.Z{Score: 1000, Member: "pulse"}, redis.Z{Score: 1000, Member: "all"}).Err())
	require.NoError(t, raw.HSet(ctx, prefix+":reports", "report", "{}", "all", "{}").Err())
	require.NoError(t, raw.HSet(ctx, prefix+":figures", "figures", "{}", "all", "{}").Err())
	before := snapshot(t, r)
	require.Len(t, before.Nodes, 1)
	untouched := dump(t, raw)

	_, err := r.Mend(ctx, overtaken(t, r), before)
	require.ErrorIs(t, err, cluster.ErrFenced)
	assert.Equal(t, untouched, dump(t, raw))
	mended, err := r.Mend(ctx, lease(t, r, "other"), before)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"mute", "pulse", "report", "figures", "all"}, mended)

	s := snapshot(t, r)
	require.Len(t, s.Nodes, 2)
	assert.InDelta(t, float64(s.Time), float64(s.Nodes[0].Pulse), 10_000, "it ages from now")
	assert.Greater(t, s.Epoch, before.Epoch, "whoever holds a snapshot must learn of the node")
	assert.Empty(t, s.Broken)
	for key, n := range map[string]int64{"reports": raw.HLen(ctx, prefix+":reports").Val(), "figures": raw.HLen(ctx, prefix+":figures").Val(), "pulses": raw.ZCard(ctx, prefix+":pulses").Val()} {
		assert.LessOrEqual(t, n, int64(2), key)
	}
	mended, err = r.Mend(ctx, lease(t, r, "other"), before)
	require.NoError(t, err)
	assert.Empty(t, mended, "what was whole when the script ran stays, whatever was read before")
	assert.Equal(t, s.Epoch, epoch(t, r))
}

func testALostPulseMakesANodeRegisterAgain(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	d := register(t, r, node("n1"))
	require.NoError(t, raw.Del(t.Context(), prefix+":pulses").Err())
	before := epoch(t, r)
	_, err := r.Pulse(t.Context(), "n1", d.Generation, &cluster.Figures{})
	require.ErrorIs(t, err, cluster.ErrUnknown)
	assert.Zero(t, raw.ZCard(t.Context(), prefix+":pulses").Val())
	_, after, err := r.Register(t.Context(), d, active)
	require.NoError(t, err)
	assert.Greater(t, after, before, "a cached snapshot lacks the node: the epoch must tell")
	assert.Len(t, snapshot(t, r).Nodes, 1)
}

// What a snapshot cannot hold it rounds: the scripts must mean the same number.
func testAPulseOutOfRangeIsStampedAndPrunedLikeAny(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	for _, score := range []float64{math.Inf(1), math.Inf(-1), 1e300, -5, 0.5, 1000.75, 1 << 53} {
		register(t, r, node("n1"))
		wild := redis.Z{Score: score, Member: "n1"}
		require.NoError(t, raw.ZAdd(t.Context(), prefix+":pulses", wild).Err())
		require.NoError(t, r.Stamp(t.Context(), lease(t, r, "a"), snapshot(t, r).Nodes))
		s := snapshot(t, r)
		assert.InDelta(t, float64(s.Time), float64(s.Nodes[0].Pulse), 10_000, "stamped from %g", score)

		require.NoError(t, raw.ZAdd(t.Context(), prefix+":pulses", wild).Err())
		gone, err := r.Prune(t.Context(), lease(t, r, "a"), snapshot(t, r).Nodes)
		require.NoError(t, err)
		assert.Equal(t, []string{"n1"}, gone, "pruned at %g", score)
	}
}

func testTheEventsAreCapped(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	pipe := raw.Pipeline()
	for range 11_000 {
		pipe.XAdd(t.Context(), &redis.XAddArgs{Stream: prefix + ":events", Values: []any{"kind", "paused"}})
	}
	_, err := pipe.Exec(t.Context())
	require.NoError(t, err)
	_, err = r.Pause(t.Context(), cluster.All, cluster.PauseRequest{})
	require.NoError(t, err)
	kept := raw.XLen(t.Context(), prefix+":events").Val()
	assert.GreaterOrEqual(t, kept, int64(10_000))
	assert.LessOrEqual(t, kept, int64(10_100), "a server drops whole nodes of a hundred entries")
	newest := raw.XRevRangeN(t.Context(), prefix+":events", "+", "-", 1).Val()
	assert.Equal(t, "all", newest[0].Values["target"])
}

func testABatchIsAnnouncedOnce(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	for i := range 10 {
		register(t, r, node(fmt.Sprint("n", i)))
	}
	sub := raw.Subscribe(t.Context(), prefix+":changes")
	defer func() { _ = sub.Close() }()
	_, err := sub.Receive(t.Context())
	require.NoError(t, err)
	events := raw.XLen(t.Context(), prefix+":events").Val()
	_, err = r.Prune(t.Context(), lease(t, r, "a"), snapshot(t, r).Nodes)
	require.NoError(t, err)
	pruned := epoch(t, r)
	p, err := r.Pause(t.Context(), cluster.All, cluster.PauseRequest{})
	require.NoError(t, err)
	for _, want := range []int64{pruned, p.Epoch} {
		m, err := sub.ReceiveMessage(shortContext(t))
		require.NoError(t, err)
		assert.Equal(t, want, atoi(t, m.Payload))
	}
	assert.Equal(t, events+11, raw.XLen(t.Context(), prefix+":events").Val(), "each node has its event")
}

func testAResumeIsFoundBehindAnyNumberOfEvents(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	p, err := r.Pause(t.Context(), cluster.All, cluster.PauseRequest{})
	require.NoError(t, err)
	_, _, err = r.Resume(t.Context(), cluster.All, "ops", "")
	require.NoError(t, err)
	for _, more := range []int{98, 1, 1, 500, 1500} { // at the edges of what a script and a page look at
		pipe := raw.Pipeline()
		for range more {
			pipe.XAdd(t.Context(), &redis.XAddArgs{Stream: prefix + ":events", Values: []any{"kind", "paused", "target", "node:n1", "epoch", p.Epoch + 5}})
		}
		_, err := pipe.Exec(t.Context())
		require.NoError(t, err)
		written, err := r.Reassert(t.Context(), cluster.All, p, "n1")
		require.NoError(t, err)
		assert.False(t, written)
	}
	p.Epoch = epoch(t, r) + 1 // as one that was set after that resume
	written, err := r.Reassert(t.Context(), cluster.All, p, "n1")
	require.NoError(t, err)
	assert.True(t, written)
	_, err = r.AcquireLease(t.Context(), "a", time.Microsecond)
	require.ErrorIs(t, err, cluster.ErrInvalid)
}
