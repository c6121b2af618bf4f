package cluster_test

import (
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func testANoteIsAnEventAndNothingElse(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	register(t, r, node("n1"))
	e := epoch(t, r)
	sub := raw.Subscribe(t.Context(), prefix+":changes")
	defer func() { _ = sub.Close() }()
	_, err := sub.Receive(t.Context())
	require.NoError(t, err)
	before := snapshot(t, r)

	require.NoError(t, r.Note(t.Context(), nil, "rule.moved", "rule:arn:x", "sweep", "group blue is paused"))
	m, err := sub.ReceiveMessage(shortContext(t))
	require.NoError(t, err)
	assert.Equal(t, e, atoi(t, m.Payload))
	last := raw.XRevRangeN(t.Context(), prefix+":events", "+", "-", 1).Val()[0].Values
	delete(last, "at_ms")
	assert.Equal(t, map[string]any{
		"kind": "rule.moved", "target": "rule:arn:x", "by": "sweep", "reason": "group blue is paused", "epoch": strconv.FormatInt(e, 10),
	}, last)
	after := snapshot(t, r)
	assert.Equal(t, before.Nodes, after.Nodes)
	assert.Equal(t, before.Epoch, after.Epoch)

	current := dump(t, raw)
	for _, event := range [][2]string{{"", "rule:x"}, {"rule.moved", ""}} {
		require.ErrorIs(t, r.Note(t.Context(), nil, event[0], event[1], "", ""), cluster.ErrInvalid)
	}
	assert.Equal(t, current, dump(t, raw))
}

func testALateSweeperNotesNothing(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	late := overtaken(t, r)
	before := dump(t, raw)
	require.ErrorIs(t, r.Note(t.Context(), &late, "rule.moved", "rule:x", "sweep", ""), cluster.ErrFenced)
	assert.Equal(t, before, dump(t, raw))
	current := lease(t, r, "other")
	require.NoError(t, r.Note(t.Context(), &current, "rule.moved", "rule:x", "sweep", ""))
}

// Who looks for a resume reads the events from the newest back, and stops at one
// that is older than the pause.
func testANoteHidesNoResume(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	p, err := r.Pause(t.Context(), cluster.All, cluster.PauseRequest{Mode: cluster.Redirect})
	require.NoError(t, err)
	_, _, err = r.Resume(t.Context(), cluster.All, "ops", "")
	require.NoError(t, err)
	require.NoError(t, raw.Del(t.Context(), prefix+":epoch").Err())
	require.NoError(t, r.Note(t.Context(), nil, "rule.restored", "rule:x", "sweep", ""))
	p.Epoch -= 1000 // made a second ago: an epoch made anew is the clock
	written, err := r.Reassert(t.Context(), cluster.All, p, "n1")
	require.NoError(t, err)
	assert.False(t, written, "it was resumed")
}
