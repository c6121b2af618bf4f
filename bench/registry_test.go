package bench

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/internal/sweep"
	"github.com/detourhq/detour/pkg/cluster"
)

const (
	crowd   = 10_000 // nodes
	silent  = 1_500  // of these, as many as one sweep prunes
	longest = 5 * time.Millisecond
	key     = "{detour:default}:"
)

// crowded is a registry of a crowd, and what its server measures.
type crowded struct {
	tb       testing.TB
	raw      redis.UniversalClient
	registry *cluster.Registry
	names    map[string]string // of the scripts, by SHA-1
}

func newCrowded(tb testing.TB) *crowded {
	tb.Helper()
	url := redistest.Start(tb, redistest.WithConfig("slowlog-max-len 1000000", "latency-monitor-threshold 1")).URL
	raw, err := cluster.Dial(url, 10*time.Second)
	require.NoError(tb, err)
	r, err := cluster.NewRegistry(raw, "default")
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = r.Close() })
	c := &crowded{tb: tb, raw: raw, registry: r, names: make(map[string]string)}
	c.load()
	return c
}

// load has the server compile the scripts, as it has after the first minute.
func (c *crowded) load() {
	c.tb.Helper()
	dir := filepath.Join("..", "pkg", "cluster", "lua")
	common, err := os.ReadFile(filepath.Join(dir, "common.lua"))
	require.NoError(c.tb, err)
	files, err := filepath.Glob(filepath.Join(dir, "*.lua"))
	require.NoError(c.tb, err)
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(c.tb, err)
		if name := strings.TrimSuffix(filepath.Base(f), ".lua"); name != "common" {
			script := string(common) + string(text)
			sum := sha1.Sum([]byte(script))
			c.names[hex.EncodeToString(sum[:])] = name
			require.NoError(c.tb, c.raw.ScriptLoad(c.tb.Context(), script).Err())
		}
	}
}

// fill makes the registry one of a crowd of which some are silent. It writes past
// the scripts, which would take seconds; what they write looks the same.
func (c *crowded) fill() {
	c.tb.Helper()
	ctx := c.tb.Context()
	now, err := c.registry.Time(ctx)
	require.NoError(c.tb, err)
	pipe := c.raw.Pipeline()
	pipe.FlushDB(ctx)
	pipe.Set(ctx, key+"epoch", int64(now), 0)
	for i := range crowd {
		d := cluster.Descriptor{
			ID: fmt.Sprintf("node-%05d", i), Group: fmt.Sprintf("group-%d", i%10), Generation: "1790000000000-0123abcd",
			Endpoint: fmt.Sprintf("https://node-%05d.example.com", i), Weight: cluster.DefaultWeight, Zone: "eu-west-1a",
			Contexts: []string{"/"}, Version: "42", PulseMS: 5_000, Started: now,
		}
		heard := now
		if i < silent {
			heard = now.Add(-time.Hour)
		}
		pipe.HSet(ctx, key+"nodes", d.ID, encode(d))
		pipe.HSet(ctx, key+"reports", d.ID, encode(cluster.Report{Generation: d.Generation, Status: cluster.Active}))
		pipe.ZAdd(ctx, key+"pulses", redis.Z{Score: float64(heard), Member: d.ID})
	}
	_, err = pipe.Exec(ctx)
	require.NoError(c.tb, err)
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a value of this file
	}
	return text
}

// burden adds all that a sweep can find to do: tombstones of a crowd, ended
// pauses, parts of records; and as many events as are kept.
func (c *crowded) burden() {
	c.tb.Helper()
	ctx := c.tb.Context()
	pipe := c.raw.Pipeline()
	for i := range crowd {
		id := fmt.Sprintf("gone-%05d", i)
		pipe.HSet(ctx, key+"left", id, "1790000000000-0123abcd 1790000000000")
		pipe.XAdd(ctx, &redis.XAddArgs{Stream: key + "events", Values: []any{"kind", "node.left", "target", "node:" + id, "by", id, "reason", "", "epoch", "9000000000000", "at_ms", "1790000000000"}})
		if i < silent {
			pipe.HSet(ctx, key+"pauses", "node:"+id, `{"mode":"redirect","since_ms":5,"until_ms":9,"epoch":5}`)
			pipe.HSet(ctx, key+"reports", id, "{}")
			pipe.ZAdd(ctx, key+"pulses", redis.Z{Score: 4e12, Member: fmt.Sprintf("node-%05d", crowd-1-i)})
			pipe.ZRem(ctx, key+"pulses", fmt.Sprintf("node-%05d", crowd/2+i))
		}
	}
	_, err := pipe.Exec(ctx)
	require.NoError(c.tb, err)
}

func (c *crowded) sweep() sweep.Result {
	c.tb.Helper()
	config := sweep.Config{PulseTimeout: 15 * time.Second, PruneAfter: 2 * time.Minute, PruneMax: 0.2}
	result, err := sweep.New(c.registry, config, nil, time.Now, slog.New(slog.DiscardHandler)).Sweep(c.tb.Context())
	require.NoError(c.tb, err)
	return result
}

// use makes every change once that is not a sweep's.
func (c *crowded) use(ctx context.Context) error {
	r := c.registry
	d, _, registered := r.Register(ctx, cluster.Descriptor{ID: "new", Group: "group-1", Endpoint: "https://new.example.com"}, cluster.Report{Status: cluster.Active})
	_, pulsed := r.Pulse(ctx, d.ID, d.Generation, &cluster.Figures{Load: 1})
	_, reported := r.Report(ctx, d.ID, cluster.Report{Generation: d.Generation, Status: cluster.Paused})
	_, left := r.Leave(ctx, d.ID, d.Generation)
	_, reasserted := r.Reassert(ctx, cluster.All, cluster.Pause{Mode: cluster.Redirect, Epoch: 5}, d.ID)
	_, paused := r.Pause(ctx, cluster.All, cluster.PauseRequest{})
	_, _, resumed := r.Resume(ctx, cluster.All, "ops", "")
	_, changed := r.ChangeGroup(ctx, "group-1", func(g *cluster.Group) error { g.Title = "one"; return nil })
	return errors.Join(registered, pulsed, reported, left, reasserted, paused, resumed, changed)
}

// watch has the server note what takes longer than d, from now on.
func (c *crowded) watch(d time.Duration) {
	c.tb.Helper()
	require.NoError(c.tb, c.raw.ConfigSet(c.tb.Context(), "slowlog-log-slower-than", fmt.Sprint(d.Microseconds())).Err())
	require.NoError(c.tb, c.raw.Do(c.tb.Context(), "SLOWLOG", "RESET").Err())
	require.NoError(c.tb, c.raw.Do(c.tb.Context(), "LATENCY", "RESET").Err())
}

// noted returns how long the scripts took that were noted, by name, and the reads
// of everything.
func (c *crowded) noted() (scripts, reads map[string][]time.Duration) {
	c.tb.Helper()
	log, err := c.raw.SlowLogGet(c.tb.Context(), -1).Result()
	require.NoError(c.tb, err)
	scripts, reads = make(map[string][]time.Duration), make(map[string][]time.Duration)
	for _, e := range log {
		switch strings.ToLower(e.Args[0]) {
		case "eval":
			scripts["eval"] = append(scripts["eval"], e.Duration)
		case "evalsha":
			scripts[c.names[e.Args[1]]] = append(scripts[c.names[e.Args[1]]], e.Duration)
		case "hgetall", "hkeys", "zrange", "xrevrange":
			name := e.Args[0] + " " + strings.TrimPrefix(e.Args[1], key)
			reads[name] = append(reads[name], e.Duration)
		}
	}
	return scripts, reads
}

// The server runs one script at a time, and nothing else meanwhile. A busy machine
// makes each look slow now and then, so there are a few tries; a script that does
// too much is slow in all of them.
func TestNoScriptBlocksACrowdedRegistry(t *testing.T) {
	c := newCrowded(t)
	var suspects map[string][]time.Duration
	for try := range 5 {
		c.fill()
		c.burden()
		c.watch(longest)
		require.NoError(t, c.use(t.Context()))
		result := c.sweep()
		require.Equal(t, silent, result.Pruned)
		require.Len(t, result.Ended, silent)
		require.Len(t, result.Stamped, silent)
		require.Len(t, result.Mended, 2*silent)
		require.Zero(t, c.raw.HLen(t.Context(), key+"left").Val()-1, "but for the one that has just left")
		slow, _ := c.noted()
		if try == 0 {
			suspects = slow
		}
		maps.DeleteFunc(suspects, func(script string, _ []time.Duration) bool { return slow[script] == nil })
		if len(suspects) == 0 {
			return
		}
		t.Logf("longer than %v: %v", longest, slow)
	}
	t.Errorf("scripts take longer than %v each time, at first: %v", longest, suspects)
}

// BenchmarkSweep10000: at most 150 ms with 1,500 nodes to prune, no script over 5 ms.
func BenchmarkSweep10000(b *testing.B) {
	c := newCrowded(b)
	var sweeps, snapshots []time.Duration
	for b.Loop() {
		c.fill()
		began := time.Now()
		s, err := c.registry.Snapshot(b.Context(), time.Now)
		require.NoError(b, err)
		require.Len(b, s.Nodes, crowd)
		snapshots = append(snapshots, time.Since(began))
		began = time.Now()
		require.Equal(b, silent, c.sweep().Pruned)
		sweeps = append(sweeps, time.Since(began))
	}
	b.ReportMetric(0, "ns/op") // filling included, of no interest
	b.ReportMetric(micros(median(snapshots))/1e3, "snapshot-ms")
	b.ReportMetric(micros(median(sweeps))/1e3, "sweep-ms")
}

// BenchmarkScripts10000: no script over 5 ms. What each takes is the server's own
// account; reads of everything block it too, and are given beside.
func BenchmarkScripts10000(b *testing.B) {
	c := newCrowded(b)
	scripts, reads := make(map[string][]time.Duration), make(map[string][]time.Duration)
	for b.Loop() {
		c.fill()
		c.burden()
		c.watch(0)
		require.NoError(b, c.use(b.Context()))
		c.sweep()
		s, r := c.noted()
		for name, d := range s {
			scripts[name] = append(scripts[name], d...)
		}
		for name, d := range r {
			reads[name] = append(reads[name], d...)
		}
	}
	var worst time.Duration
	for name, d := range scripts {
		worst = max(worst, slices.Max(d))
		b.ReportMetric(micros(median(d)), name+"-µs")
	}
	for name, d := range reads {
		b.Logf("%s: median %v, worst %v", name, median(d), slices.Max(d))
	}
	if latency, err := c.raw.Do(b.Context(), "LATENCY", "LATEST").Result(); err == nil {
		b.Logf("event, when, last ms, worst ms: %v", latency)
	}
	b.ReportMetric(micros(worst), "worst-script-µs")
	b.ReportMetric(0, "ns/op")
}
