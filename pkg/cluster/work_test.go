package cluster_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func testWorkChangesOnlyFromWhatWasRead(t *testing.T, r *cluster.Registry, _ redis.UniversalClient) {
	ctx := t.Context()
	e := epoch(t, r)
	require.ErrorIs(t, r.SwapWork(ctx, nil, "spot:i-1", `{"a":0}`, `{"a":1}`), cluster.ErrConflict, "there is none")
	require.NoError(t, r.SwapWork(ctx, nil, "spot:i-1", "", `{"a":1}`))
	require.ErrorIs(t, r.SwapWork(ctx, nil, "spot:i-1", "", `{"a":2}`), cluster.ErrConflict, "there is one")
	require.ErrorIs(t, r.SwapWork(ctx, nil, "spot:i-1", `{"a":9}`, ""), cluster.ErrConflict)
	require.NoError(t, r.SwapWork(ctx, nil, "spot:i-1", `{"a":1}`, `{"a":2}`))
	all, err := r.Work(ctx)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"spot:i-1": `{"a":2}`}, all)
	require.NoError(t, r.SwapWork(ctx, nil, "spot:i-1", `{"a":2}`, ""))
	all, err = r.Work(ctx)
	require.NoError(t, err)
	assert.Empty(t, all)
	assert.Equal(t, e, epoch(t, r), "no decision depends on work")
}

func testALateSweeperStoresNoWork(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	late := overtaken(t, r)
	before := dump(t, raw)
	require.ErrorIs(t, r.SwapWork(t.Context(), &late, "spot:i-1", "", `{}`), cluster.ErrFenced)
	assert.Equal(t, before, dump(t, raw))
	current := lease(t, r, "other")
	require.NoError(t, r.SwapWork(t.Context(), &current, "spot:i-1", "", `{}`))
}

func testWorkNeverTouchesTheSweepsNotes(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	notes := cluster.SweepNotes{At: 5, Epoch: 6}
	_, err := r.Tidy(t.Context(), lease(t, r, "a"), notes, nil)
	require.NoError(t, err)
	all, err := r.Work(t.Context())
	require.NoError(t, err)
	assert.Empty(t, all)
	before := dump(t, raw)
	for _, name := range []string{"sweep", ""} {
		require.ErrorIs(t, r.SwapWork(t.Context(), nil, name, "", `{}`), cluster.ErrInvalid)
	}
	for _, body := range []string{"{", "5", "nonsense"} {
		require.ErrorIs(t, r.SwapWork(t.Context(), nil, "x", "", body), cluster.ErrInvalid, body)
	}
	assert.Equal(t, before, dump(t, raw))
}

func testAPauseIsSwappedOnlyForTheOneThatWasRead(t *testing.T, r *cluster.Registry, _ redis.UniversalClient) {
	ctx, target := t.Context(), cluster.NodeTarget("n1")
	ours := cluster.Pause{Mode: cluster.Drain, By: "aws:spot", Reason: "it is taken back", Since: 5, Until: 9, Deadline: 7}
	e, err := r.SwapPause(ctx, target, 0, &ours, "aws:spot", "it is taken back")
	require.NoError(t, err)
	ours.Epoch = e
	assert.Equal(t, map[cluster.Target]cluster.Pause{target: ours}, snapshot(t, r).Pauses)

	_, err = r.SwapPause(ctx, target, 0, &ours, "", "")
	require.ErrorIs(t, err, cluster.ErrConflict, "one stands there")
	theirs, err := r.Pause(ctx, target, cluster.PauseRequest{Mode: cluster.Hold, By: "ops"})
	require.NoError(t, err)
	for _, p := range []*cluster.Pause{&ours, nil} {
		_, err = r.SwapPause(ctx, target, ours.Epoch, p, "", "")
		require.ErrorIs(t, err, cluster.ErrConflict, "another stands there")
	}
	assert.Equal(t, theirs, snapshot(t, r).Pauses[target])

	lifted, err := r.SwapPause(ctx, target, theirs.Epoch, nil, "", "")
	require.NoError(t, err)
	assert.Greater(t, lifted, theirs.Epoch)
	assert.Empty(t, snapshot(t, r).Pauses)
	_, err = r.SwapPause(ctx, target, theirs.Epoch, nil, "", "")
	require.ErrorIs(t, err, cluster.ErrConflict, "none stands there")
	_, err = r.SwapPause(ctx, target, 0, nil, "", "")
	require.ErrorIs(t, err, cluster.ErrInvalid)
}

func testASwapIsAnnounced(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	e, err := r.SwapPause(t.Context(), cluster.All, 0, &cluster.Pause{Mode: cluster.Drain}, "aws:task", "it stops")
	require.NoError(t, err)
	_, err = r.SwapPause(t.Context(), cluster.All, e, nil, "aws:task", "it is gone")
	require.NoError(t, err)
	events := raw.XRange(t.Context(), prefix+":events", "-", "+").Val()
	require.Len(t, events, 2)
	for i, want := range []struct{ kind, reason string }{{"paused", "it stops"}, {"resumed", "it is gone"}} {
		assert.Equal(t, want.kind, events[i].Values["kind"])
		assert.Equal(t, want.reason, events[i].Values["reason"])
		assert.Equal(t, "aws:task", events[i].Values["by"])
		assert.Equal(t, "all", events[i].Values["target"])
	}
}

func testAnUnreadablePauseIsNeverSwapped(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	for _, body := range []string{"{", "[]", "{}", `{"epoch":"x"}`, `{"epoch":null}`} {
		require.NoError(t, raw.HSet(t.Context(), prefix+":pauses", "all", body).Err())
		_, err := r.SwapPause(t.Context(), cluster.All, 0, &cluster.Pause{Mode: cluster.Drain}, "", "")
		require.ErrorIs(t, err, cluster.ErrConflict, body)
	}
}

func testAnEventIsRememberedForADay(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	ctx, key := t.Context(), prefix+":seen"
	seen, err := r.Seen(ctx, "a")
	require.NoError(t, err)
	assert.False(t, seen)
	for range 2 {
		require.NoError(t, r.MarkSeen(ctx, "a"))
	}
	seen, err = r.Seen(ctx, "a")
	require.NoError(t, err)
	assert.True(t, seen)

	day := 24 * time.Hour
	now, err := r.Time(ctx)
	require.NoError(t, err)
	for id, age := range map[string]time.Duration{"young": day - time.Minute, "old": day + time.Millisecond} {
		require.NoError(t, raw.ZAdd(ctx, key, redis.Z{Score: float64(now.Add(-age)), Member: id}).Err())
		seen, err = r.Seen(ctx, id)
		require.NoError(t, err)
		assert.Equal(t, age < day, seen, id)
	}
	require.NoError(t, r.MarkSeen(ctx, "b"))
	assert.ElementsMatch(t, []string{"a", "b", "young"}, raw.ZRange(ctx, key, 0, -1).Val(), "older ones are forgotten")
}
