package sweep

import (
	"log/slog"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

const (
	every   = 10 * time.Second // between two sweeps
	timeout = 15 * time.Second
	after   = 2 * time.Minute
	prefix  = "{detour:test}"
)

var usual = Config{PulseTimeout: timeout, PruneAfter: after, PruneMax: 0.15, Probe: true, LeaseTTL: 30 * time.Second}

// world is a registry whose time is moved by hand, and its nodes.
type world struct {
	t        testing.TB
	server   *miniredis.Miniredis
	raw      redis.UniversalClient
	registry *cluster.Registry
	time     time.Time
	nodes    map[string]cluster.Descriptor // as registered last
}

func newWorld(t testing.TB) *world {
	t.Helper()
	server := miniredis.RunT(t)
	w := &world{t: t, server: server, time: time.UnixMilli(1_800_000_000_000), nodes: make(map[string]cluster.Descriptor)}
	w.raw, w.registry = open(t, "redis://"+server.Addr())
	w.pass(0)
	return w
}

func open(t testing.TB, url string) (redis.UniversalClient, *cluster.Registry) {
	t.Helper()
	raw, err := cluster.Dial(url, 5*time.Second)
	require.NoError(t, err)
	r, err := cluster.NewRegistry(raw, "test")
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return raw, r
}

// pass lets time pass, for leases too.
func (w *world) pass(d time.Duration) {
	w.time = w.time.Add(d)
	w.server.SetTime(w.time)
	w.server.FastForward(d)
}

func (w *world) now() cluster.Millis { return cluster.Millis(w.time.UnixMilli()) }

// register starts nodes anew.
func (w *world) register(ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		w.registerAs(cluster.Descriptor{ID: id})
	}
}

// registerAs starts a node anew, of which d says what matters.
func (w *world) registerAs(d cluster.Descriptor) {
	w.t.Helper()
	d.Group, d.Endpoint, d.Weight = "blue", "https://"+d.ID+".example.com", cluster.DefaultWeight
	d.Generation = cluster.NewGeneration(w.now(), w.nodes[d.ID].Generation)
	d, _, err := w.registry.Register(w.t.Context(), d, cluster.Report{Status: cluster.Active})
	require.NoError(w.t, err)
	w.nodes[d.ID] = d
}

func (w *world) pulse(ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		_, err := w.registry.Pulse(w.t.Context(), id, w.nodes[id].Generation, nil)
		require.NoError(w.t, err, id)
	}
}

// heard makes d ago the last time that a node was heard.
func (w *world) heard(id string, d time.Duration) {
	w.t.Helper()
	score := float64(w.now().Add(-d))
	require.NoError(w.t, w.raw.ZAdd(w.t.Context(), prefix+":pulses", redis.Z{Score: score, Member: id}).Err())
}

func (w *world) snapshot() *cluster.Snapshot {
	w.t.Helper()
	s, err := w.registry.Snapshot(w.t.Context(), time.Now)
	require.NoError(w.t, err)
	return s
}

func (w *world) notes() cluster.SweepNotes {
	w.t.Helper()
	n, err := w.registry.Notes(w.t.Context())
	require.NoError(w.t, err)
	return n
}

// registered returns the ids of the registered nodes, sorted.
func (w *world) registered() []string { return ids(w.snapshot().Nodes) }

func (w *world) sweeper(c Config) *Sweeper { return newSweeper(w.registry, c) }

func newSweeper(r registry, c Config) *Sweeper {
	return New(r, c, nil, time.Now, slog.New(slog.DiscardHandler))
}

func (w *world) sweep(c Config) Result {
	w.t.Helper()
	r, err := w.sweeper(c).Sweep(w.t.Context())
	require.NoError(w.t, err)
	return r
}

// dump returns what a refused sweeper must not touch.
func (w *world) dump() map[string]any {
	w.t.Helper()
	all := make(map[string]any)
	for _, key := range []string{"nodes", "reports", "pauses", "left", "work"} {
		all[key] = w.raw.HGetAll(w.t.Context(), prefix+":"+key).Val()
	}
	all["pulses"] = w.raw.ZRangeWithScores(w.t.Context(), prefix+":pulses", 0, -1).Val()
	for _, key := range []string{"epoch", "fence", "lease"} {
		all[key] = w.raw.Get(w.t.Context(), prefix+":"+key).Val()
	}
	return all
}
