package cluster_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func testAPauseIsStoredAsItWasAskedFor(t *testing.T, r *cluster.Registry, _ redis.UniversalClient) {
	before := epoch(t, r)
	p, err := r.Pause(t.Context(), cluster.GroupTarget("blue"), cluster.PauseRequest{
		Mode: cluster.Drain, Reason: `"quoted" }`, By: "ops", For: time.Minute, Deadline: time.Second,
	})
	require.NoError(t, err)
	assert.Greater(t, p.Epoch, before)
	assert.Equal(t, p.Since.Add(time.Minute), p.Until)
	assert.Equal(t, p.Since.Add(time.Second), p.Deadline)
	s := snapshot(t, r)
	assert.Equal(t, map[cluster.Target]cluster.Pause{cluster.GroupTarget("blue"): p}, s.Pauses)
	assert.Equal(t, p.Epoch, s.Epoch)

	q, err := r.Pause(t.Context(), cluster.GroupTarget("blue"), cluster.PauseRequest{Mode: cluster.Stop})
	require.NoError(t, err)
	assert.Greater(t, q.Epoch, p.Epoch)
	assert.Equal(t, q, snapshot(t, r).Pauses[cluster.GroupTarget("blue")], "the same target again replaces")
}

func testResumeLiftsOneTargetOnly(t *testing.T, r *cluster.Registry, _ redis.UniversalClient) {
	var paused cluster.Pause
	for _, target := range []cluster.Target{cluster.All, cluster.NodeTarget("n1")} {
		var err error
		paused, err = r.Pause(t.Context(), target, cluster.PauseRequest{Mode: cluster.Redirect})
		require.NoError(t, err)
	}
	moved, was, err := r.Resume(t.Context(), cluster.NodeTarget("n1"), "ops", "done")
	require.NoError(t, err)
	assert.True(t, was)
	assert.Equal(t, moved, epoch(t, r))
	_, was, err = r.Resume(t.Context(), cluster.NodeTarget("n1"), "ops", "done")
	require.NoError(t, err)
	assert.False(t, was, "what is not paused")
	assert.Equal(t, moved, epoch(t, r), "moves nothing")
	assert.Contains(t, snapshot(t, r).Pauses, cluster.All)

	last, found, err := r.LastResume(t.Context(), cluster.NodeTarget("n1"), paused.Epoch)
	require.NoError(t, err)
	assert.True(t, found)
	assert.Equal(t, "ops", last.By)
	assert.InDelta(t, int64(snapshot(t, r).Time), int64(last.At), 60_000)
	for target, since := range map[cluster.Target]int64{cluster.NodeTarget("n1"): moved, cluster.All: 0} {
		_, found, err = r.LastResume(t.Context(), target, since)
		require.NoError(t, err)
		assert.False(t, found, "%s since %d", target, since)
	}
}

func testAPauseThatCannotBeMeantIsRefused(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	before := dump(t, raw)
	for _, p := range []cluster.PauseRequest{{Mode: cluster.Stop, For: time.Minute}, {For: -1}, {Deadline: -1}} {
		_, err := r.Pause(t.Context(), cluster.All, p)
		assert.ErrorIs(t, err, cluster.ErrInvalid)
	}
	assert.Equal(t, before, dump(t, raw))
}

func testALostPauseIsReassertedUnlessResumedSince(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	blue := cluster.GroupTarget("blue")
	p, err := r.Pause(t.Context(), blue, cluster.PauseRequest{Mode: cluster.Drain, Reason: "why", By: "ops", For: time.Hour})
	require.NoError(t, err)
	written, err := r.Reassert(t.Context(), blue, p, "n1")
	require.NoError(t, err)
	assert.False(t, written, "it stands")

	require.NoError(t, raw.HDel(t.Context(), prefix+":pauses", blue.String()).Err())
	written, err = r.Reassert(t.Context(), blue, p, "n1")
	require.NoError(t, err)
	assert.True(t, written)
	back := snapshot(t, r).Pauses[blue]
	assert.Greater(t, back.Epoch, p.Epoch)
	p.Epoch = back.Epoch
	assert.Equal(t, p, back, "as it was but for the epoch")

	_, _, err = r.Resume(t.Context(), blue, "ops", "")
	require.NoError(t, err)
	for range 120 { // more than one fetch of events later
		_, err = r.Pause(t.Context(), cluster.NodeTarget("other"), cluster.PauseRequest{})
		require.NoError(t, err)
	}
	before := dump(t, raw)
	written, err = r.Reassert(t.Context(), blue, p, "n1")
	require.NoError(t, err)
	assert.False(t, written, "it was resumed since")
	assert.Equal(t, before, dump(t, raw))

	require.NoError(t, raw.FlushDB(t.Context()).Err())
	written, err = r.Reassert(t.Context(), blue, p, "n1")
	require.NoError(t, err)
	assert.True(t, written, "of a registry that was emptied only the nodes know")
}

func testEveryChangeIsAnnounced(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	sub := raw.Subscribe(t.Context(), prefix+":changes")
	defer func() { _ = sub.Close() }()
	_, err := sub.Receive(t.Context())
	require.NoError(t, err)
	p, err := r.Pause(t.Context(), cluster.All, cluster.PauseRequest{Mode: cluster.Redirect, By: "ops", Reason: "why"})
	require.NoError(t, err)
	m, err := sub.ReceiveMessage(shortContext(t))
	require.NoError(t, err)
	assert.Equal(t, p.Epoch, atoi(t, m.Payload))
	events := raw.XRange(t.Context(), prefix+":events", "-", "+").Val()
	require.Len(t, events, 1)
	assert.Equal(t, "paused", events[0].Values["kind"])
	assert.Equal(t, "all", events[0].Values["target"])
	assert.Equal(t, "ops", events[0].Values["by"])
	assert.Equal(t, "why", events[0].Values["reason"])
}

func testAGroupChangesOnlyWhereItIsToldTo(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	stored := `{"id":"blue","title":"Blue","future":{"kept":true},"fallbacks":["green"]}`
	require.NoError(t, raw.HSet(t.Context(), prefix+":groups", "blue", stored).Err())
	before := epoch(t, r)
	g, err := r.ChangeGroup(t.Context(), "blue", func(g *cluster.Group) error {
		g.Service = "shop"
		g.Fallbacks = nil
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, cluster.Group{ID: "blue", Title: "Blue", Service: "shop"}, g)
	assert.JSONEq(t, `{"id":"blue","title":"Blue","service":"shop","future":{"kept":true}}`,
		raw.HGet(t.Context(), prefix+":groups", "blue").Val(), "an unknown field is kept")
	assert.Greater(t, epoch(t, r), before)
	assert.Equal(t, "shop", snapshot(t, r).Service("blue"))

	refused := errors.New("refused")
	_, err = r.ChangeGroup(t.Context(), "blue", func(*cluster.Group) error { return refused })
	require.ErrorIs(t, err, refused)
	_, err = r.ChangeGroup(t.Context(), "blue", func(g *cluster.Group) error { g.Paths = []string{"x"}; return nil })
	require.ErrorIs(t, err, cluster.ErrInvalid)
}

func testAGroupChangedMeanwhileIsReadAgain(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	calls := 0
	g, err := r.ChangeGroup(t.Context(), "blue", func(g *cluster.Group) error {
		if calls++; calls == 1 {
			require.NoError(t, raw.HSet(t.Context(), prefix+":groups", "blue", `{"id":"blue","title":"theirs"}`).Err())
		}
		g.Service = "ours"
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, 2, calls)
	assert.Equal(t, cluster.Group{ID: "blue", Title: "theirs", Service: "ours"}, g)

	_, err = r.ChangeGroup(t.Context(), "blue", func(*cluster.Group) error {
		calls++
		return raw.HSet(t.Context(), prefix+":groups", "blue", `{"id":"blue","title":"`+string(rune('a'+calls))+`"}`).Err()
	})
	assert.ErrorIs(t, err, cluster.ErrConflict)
}

func testARemovedGroupLeavesItsNodes(t *testing.T, r *cluster.Registry, _ redis.UniversalClient) {
	register(t, r, node("n1"))
	_, err := r.ChangeGroup(t.Context(), "blue", func(g *cluster.Group) error { g.Title = "Blue"; return nil })
	require.NoError(t, err)
	was, err := r.RemoveGroup(t.Context(), "blue")
	require.NoError(t, err)
	assert.True(t, was)
	was, err = r.RemoveGroup(t.Context(), "blue")
	require.NoError(t, err)
	assert.False(t, was)
	s := snapshot(t, r)
	assert.Empty(t, s.Groups)
	assert.Len(t, s.Nodes, 1)
}
