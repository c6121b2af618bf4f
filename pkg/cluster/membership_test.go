package cluster_test

import (
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func testARegisteredNodeIsWholeAtOnce(t *testing.T, r *cluster.Registry, _ redis.UniversalClient) {
	d := register(t, r, node("n1"))
	s := snapshot(t, r)
	require.Len(t, s.Nodes, 1)
	n := s.Nodes[0]
	assert.Equal(t, d, n.Descriptor)
	assert.NotEmpty(t, n.Generation)
	assert.Equal(t, cluster.Active, n.Report.Status)
	assert.InDelta(t, float64(s.Time), float64(n.Pulse), 60_000)
	assert.Equal(t, n.Started, cluster.Millis(s.Epoch), "the epoch follows the clock")
	assert.Empty(t, s.Broken)
}

func testTheSameDescriptorKeepsItsGeneration(t *testing.T, r *cluster.Registry, _ redis.UniversalClient) {
	first := register(t, r, node("n1"))
	before := epoch(t, r)
	assert.Equal(t, first, register(t, r, node("n1")))
	assert.Equal(t, before, epoch(t, r), "nothing changed, so the epoch stays")

	changed := node("n1")
	changed.Version = "2"
	second := register(t, r, changed)
	assert.True(t, first.Generation.Less(second.Generation))
	assert.Greater(t, epoch(t, r), before)
}

func testAnOldGenerationIsTurnedAway(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	old := register(t, r, node("n1"))
	changed := node("n1")
	changed.Version = "2"
	register(t, r, changed)
	before := dump(t, raw)

	ctx := shortContext(t)
	_, err := r.Pulse(ctx, "n1", old.Generation, nil)
	assert.ErrorIs(t, err, cluster.ErrSuperseded)
	_, err = r.Report(ctx, "n1", cluster.Report{Generation: old.Generation, Status: cluster.Paused})
	assert.ErrorIs(t, err, cluster.ErrSuperseded)
	_, err = r.Leave(ctx, "n1", old.Generation)
	assert.ErrorIs(t, err, cluster.ErrSuperseded)
	_, _, err = r.Register(ctx, old, active)
	assert.ErrorIs(t, err, cluster.ErrSuperseded)
	assert.Equal(t, before, dump(t, raw), "a node turned away changes nothing")
}

func testPulsesAndFiguresNeverMoveTheEpoch(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	d := register(t, r, node("n1"))
	before := epoch(t, r)
	require.NoError(t, raw.ZAdd(t.Context(), prefix+":pulses", redis.Z{Score: 5, Member: "n1"}).Err())

	seen, err := r.Pulse(t.Context(), "n1", d.Generation, &cluster.Figures{Load: 0.5, InFlight: 3})
	require.NoError(t, err)
	assert.Equal(t, before, seen)
	s := snapshot(t, r)
	assert.Equal(t, before, s.Epoch)
	assert.Greater(t, s.Nodes[0].Pulse, cluster.Millis(5))
	assert.Equal(t, &cluster.Figures{Load: 0.5, InFlight: 3}, s.Nodes[0].Figures)
}

func testAReportMovesTheEpochOnlyWhenItDiffers(t *testing.T, r *cluster.Registry, _ redis.UniversalClient) {
	d := register(t, r, node("n1"))
	before := epoch(t, r)
	rep := cluster.Report{Generation: d.Generation, Status: cluster.Paused, Reason: "deploy"}
	first, err := r.Report(t.Context(), "n1", rep)
	require.NoError(t, err)
	assert.Greater(t, first, before)
	again, err := r.Report(t.Context(), "n1", rep)
	require.NoError(t, err)
	assert.Equal(t, first, again)
	assert.True(t, snapshot(t, r).Nodes[0].IsPaused())
}

func testAnUnknownNodeMustRegister(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	_, err := r.Pulse(t.Context(), "n1", "0000000000001-a", &cluster.Figures{})
	require.ErrorIs(t, err, cluster.ErrUnknown)
	assert.Zero(t, raw.ZCard(t.Context(), prefix+":pulses").Val(), "no pulse without a descriptor")
	assert.Zero(t, raw.HLen(t.Context(), prefix+":figures").Val())
}

func testWhoLeftStaysAway(t *testing.T, r *cluster.Registry, _ redis.UniversalClient) {
	d := register(t, r, node("n1"))
	_, err := r.Leave(t.Context(), "n1", d.Generation)
	require.NoError(t, err)
	assert.Empty(t, snapshot(t, r).Nodes)
	_, err = r.Pulse(t.Context(), "n1", d.Generation, nil)
	require.ErrorIs(t, err, cluster.ErrLeft, "a late pulse brings nobody back")
	_, _, err = r.Register(t.Context(), d, active)
	require.ErrorIs(t, err, cluster.ErrLeft, "nor does a late registration of that life")

	again := register(t, r, node("n1"))
	assert.True(t, d.Generation.Less(again.Generation))
	_, err = r.Pulse(t.Context(), "n1", d.Generation, nil)
	assert.ErrorIs(t, err, cluster.ErrSuperseded)
}

func testARestartInheritsNothing(t *testing.T, r *cluster.Registry, _ redis.UniversalClient) {
	d := register(t, r, node("n1"))
	_, err := r.Pulse(t.Context(), "n1", d.Generation, &cluster.Figures{Sessions: 7})
	require.NoError(t, err)
	_, err = r.Report(t.Context(), "n1", cluster.Report{Generation: d.Generation, Status: cluster.Paused})
	require.NoError(t, err)

	changed := node("n1")
	changed.Version = "2"
	register(t, r, changed)
	n := snapshot(t, r).Nodes[0]
	assert.Equal(t, cluster.Active, n.Report.Status)
	assert.Nil(t, n.Figures)
}

func testTheEpochNeverReturns(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	register(t, r, node("n1"))
	before := epoch(t, r)
	require.NoError(t, raw.Del(t.Context(), prefix+":epoch", prefix+":nodes", prefix+":reports", prefix+":pulses").Err())
	require.Zero(t, epoch(t, r))
	time.Sleep(2 * time.Millisecond)
	register(t, r, node("n1"))
	assert.Greater(t, epoch(t, r), before)

	ahead := epoch(t, r) + 1_000_000 // as after a failover to a slower clock
	require.NoError(t, raw.Set(t.Context(), prefix+":epoch", ahead, 0).Err())
	register(t, r, node("n2"))
	assert.Equal(t, ahead+1, epoch(t, r))
}

func testNoNodeOutOfFormIsRegistered(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	before := dump(t, raw)
	for name, spoil := range map[string]func(*cluster.Descriptor){
		"no id":             func(d *cluster.Descriptor) { d.ID = "" },
		"a group of spaces": func(d *cluster.Descriptor) { d.Group = " " },
		"no endpoint":       func(d *cluster.Descriptor) { d.Endpoint = "" },
		"a user in it":      func(d *cluster.Descriptor) { d.Endpoint = "https://a.example.com@evil.example" },
		"an unknown role":   func(d *cluster.Descriptor) { d.Role = "king" },
		"a bare context":    func(d *cluster.Descriptor) { d.Contexts = []string{"shop"} },
	} {
		d := node("n1")
		spoil(&d)
		_, _, err := r.Register(t.Context(), d, active)
		assert.ErrorIs(t, err, cluster.ErrInvalid, name)
	}
	_, _, err := r.Register(t.Context(), cluster.Descriptor{
		ID: "n1", Group: "blue", Endpoint: "https://n1.example.com", Generation: "yesterday",
	}, active)
	require.ErrorIs(t, err, cluster.ErrInvalid, "the script validates too: other programs call it")
	assert.Equal(t, before, dump(t, raw))
}

func testAKeyOfAnotherTypeRefusesEveryChangeWhole(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	d := register(t, r, node("n1"))
	require.NoError(t, raw.Del(t.Context(), prefix+":reports").Err())
	require.NoError(t, raw.Set(t.Context(), prefix+":reports", "x", 0).Err())
	before := dump(t, raw)

	_, _, err := r.Register(t.Context(), node("n2"), active)
	assert.ErrorContains(t, err, "is a string, not a hash")
	_, err = r.Leave(t.Context(), "n1", d.Generation)
	assert.Error(t, err)
	_, err = r.Snapshot(t.Context(), time.Now)
	assert.Error(t, err, "such a registry counts as lost")
	assert.Equal(t, before, dump(t, raw), "nothing half done")
}

func testAStartAfterTheClockSteppedBackIsLater(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	ahead := cluster.NewGeneration(cluster.Millis(time.Now().Add(5 * time.Minute).UnixMilli())) // by a clock that was ahead
	d := node("n1")
	d.Generation = ahead
	register(t, r, d)
	g, now, err := r.Born(t.Context(), "n1")
	require.NoError(t, err)
	assert.True(t, ahead.Less(g), "later than the one that is registered")
	assert.InDelta(t, float64(snapshot(t, r).Time), float64(now), 60_000)

	_, err = r.Leave(t.Context(), "n1", ahead)
	require.NoError(t, err)
	d.Generation, _, err = r.Born(t.Context(), "n1")
	require.NoError(t, err)
	register(t, r, d)

	require.NoError(t, raw.HSet(t.Context(), prefix+":nodes", "n1", "{").Err())
	g, _, err = r.Born(t.Context(), "n1")
	require.NoError(t, err, "an unreadable predecessor is none")
	assert.True(t, ahead.Less(g), "but the one that left is known still")
}

func testALifeThatLeftBeforeTheLastStaysAway(t *testing.T, r *cluster.Registry, _ redis.UniversalClient) {
	first := register(t, r, node("n1"))
	_, err := r.Leave(t.Context(), "n1", first.Generation)
	require.NoError(t, err)
	register(t, r, node("n1"))
	gone, err := r.Prune(t.Context(), lease(t, r, "a"), snapshot(t, r).Nodes)
	require.NoError(t, err)
	require.Equal(t, []string{"n1"}, gone, "which leaves no tombstone")
	_, _, err = r.Register(t.Context(), first, active)
	require.ErrorIs(t, err, cluster.ErrLeft)
	_, err = r.Pulse(t.Context(), "n1", first.Generation, nil)
	require.ErrorIs(t, err, cluster.ErrLeft)
}

func testANumberThatJSONCannotHoldIsRefused(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	d := register(t, r, node("n1"))
	before := dump(t, raw)
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := r.Pulse(t.Context(), "n1", d.Generation, &cluster.Figures{Load: f})
		require.ErrorIs(t, err, cluster.ErrInvalid)
		heavy := node("n2")
		heavy.Weight = f
		_, _, err = r.Register(t.Context(), heavy, active)
		require.ErrorIs(t, err, cluster.ErrInvalid)
	}
	assert.Equal(t, before, dump(t, raw))
}
