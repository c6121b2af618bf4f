package cluster_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func atoi(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	require.NoError(t, err)
	return n
}

func testBrokenEntriesAreSkippedAndCounted(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	good := register(t, r, node("good"))
	huge := strings.Repeat("x", 1<<20)
	ctx := t.Context()
	for field, body := range map[string]string{
		"bad-json": `{`, "empty": ``, "null-id": `null`, "array": `[]`, "huge": huge,
		"other-id": `{"id":"someone"}`, "no-endpoint": `{"id":"no-endpoint","group":"g"}`,
		"bad-weight": `{"id":"bad-weight","group":"g","endpoint":"https://a.example","weight":"much"}`,
		"no-pulse":   `{"id":"no-pulse","group":"g","endpoint":"https://a.example"}`,
	} {
		require.NoError(t, raw.HSet(ctx, prefix+":nodes", field, body).Err())
		if field != "no-pulse" {
			require.NoError(t, raw.ZAdd(ctx, prefix+":pulses", redis.Z{Score: 1e12, Member: field}).Err())
		}
	}
	require.NoError(t, raw.ZAdd(ctx, prefix+":pulses", redis.Z{Score: 1e12, Member: "no-descriptor"}).Err())
	for field, body := range map[string]string{"blue": `{"paths":["x"]}`, "g2": `nonsense`} {
		require.NoError(t, raw.HSet(ctx, prefix+":groups", field, body).Err())
	}
	for field, body := range map[string]string{"planet:earth": `{}`, "node:good": `{`, "group:blue": `{"mode":"never heard"}`} {
		require.NoError(t, raw.HSet(ctx, prefix+":pauses", field, body).Err())
	}
	require.NoError(t, raw.HSet(ctx, prefix+":figures", "good", `[]`).Err())

	s := snapshot(t, r)
	require.Len(t, s.Nodes, 1)
	assert.Equal(t, good, s.Nodes[0].Descriptor)
	assert.Nil(t, s.Nodes[0].Figures)
	broken := make(map[string]int)
	for _, b := range s.Broken {
		broken[b.Key]++
		assert.Error(t, b.Err)
	}
	assert.Equal(t, map[string]int{"nodes": 8, "pulses": 1, "groups": 2, "pauses": 2, "figures": 1}, broken)
	for _, target := range []cluster.Target{cluster.NodeTarget("good"), cluster.GroupTarget("blue")} {
		p, ok := s.Pauses[target]
		require.True(t, ok, "a pause whose target can be read is never lost")
		assert.Equal(t, cluster.Redirect, p.ModeAt(s.Time))
		assert.True(t, p.Covers(s.Time+1e12))
	}
}

func testAReportOfAnotherLifeOrNoneIsNotActive(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	for _, id := range []string{"n1", "n2", "n3"} {
		register(t, r, node(id))
	}
	require.NoError(t, raw.HSet(t.Context(), prefix+":reports", "n1", `{"generation":"1-x","status":"active"}`).Err())
	require.NoError(t, raw.HSet(t.Context(), prefix+":reports", "n2", `not json`).Err())
	require.NoError(t, raw.HDel(t.Context(), prefix+":reports", "n3").Err())
	s := snapshot(t, r)
	require.Len(t, s.Nodes, 3)
	for _, n := range s.Nodes {
		assert.NotEqual(t, cluster.Active, n.Report.Status, n.ID)
	}
	assert.Len(t, s.Broken, 1)
}

func testAgedReadsWhatAges(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	d := register(t, r, node("n1"))
	register(t, r, node("n2"))
	old := snapshot(t, r)
	require.NoError(t, raw.ZAdd(t.Context(), prefix+":pulses", redis.Z{Score: 2e12, Member: "n1"}).Err())
	require.NoError(t, raw.HSet(t.Context(), prefix+":figures", "n1", `{"load":2}`).Err())
	aged, err := r.Aged(t.Context(), old, time.Now)
	require.NoError(t, err)
	assert.Equal(t, cluster.Millis(2e12), aged.Nodes[0].Pulse)
	assert.InDelta(t, 2.0, aged.Nodes[0].Figures.Load, 0)
	assert.Equal(t, old.Nodes[1], aged.Nodes[1])
	assert.Equal(t, d, aged.Nodes[0].Descriptor)
	assert.NotEqual(t, cluster.Millis(2e12), old.Nodes[0].Pulse, "the old snapshot stays as it was")
}

func testCountsRideWithTheEpoch(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) {
	register(t, r, node("n1"))
	var c cluster.Counts
	c.Add(60_000*7, "redirected", "node:n1")
	c.Add(60_000*7, "redirected")
	e, err := r.Epoch(t.Context(), c)
	require.NoError(t, err)
	assert.Equal(t, epoch(t, r), e)
	assert.Equal(t, map[string]string{"redirected": "2", "node:n1": "1"}, raw.HGetAll(t.Context(), prefix+":stats:7").Val())
	assert.Positive(t, raw.TTL(t.Context(), prefix+":stats:7").Val())
}
