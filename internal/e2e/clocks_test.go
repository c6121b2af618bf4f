package e2e

import (
	"log/slog"
	"maps"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/child"
	"github.com/detourhq/detour/internal/locallambda"
	"github.com/detourhq/detour/internal/sweep"
	"github.com/detourhq/detour/pkg/cluster"
)

// tolerance is for how long nodes may be silent here, and then once more until
// they may be pruned.
const tolerance = 2 * time.Second

// Every program's wall clock is wrong but the registry's: one node's is an hour
// slow and another's an hour fast, and so are those of two redirect functions;
// those of two sweepers, two hours. Nobody who lives is pruned or left out for
// it, nobody who is silent stays or is led to, and a pause ends when it should.
func TestNoClockButTheRegistrysDecides(t *testing.T) {
	t.Parallel() // it mostly waits
	w := newWorld(t, 1, nil)
	agent := bentAgent(t)
	w.runAgent(t, agent, "slow", "-1h")
	w.runAgent(t, agent, "fast", "1h")
	eventually(t, w.registry, func(s *cluster.Snapshot) bool { return len(s.Nodes) == 2 })
	var functions []*locallambda.Host
	for _, wrong := range []string{"-1h", "1h"} {
		functions = append(functions, w.host(t, bentFunction(t), 1, map[string]string{
			"DETOUR_PULSE_TIMEOUT": tolerance.String(), "DETOUR_PULSE_EVERY": "200ms", bentWall: wrong,
		}))
	}
	for _, seen := range w.seenWithin(t, tolerance, functions, func() {
		w.register(t, "silent", "green", "http://silent.example.com")
	}) {
		assert.Equal(t, []string{"fast", "silent", "slow"}, seen, "who has just registered is offered")
	}

	time.Sleep(tolerance + tolerance/10)
	const ends = 1500 * time.Millisecond
	var paused time.Time
	for _, seen := range w.seenWithin(t, ends, functions, func() {
		_, err := w.registry.Pause(t.Context(), cluster.NodeTarget("slow"), cluster.PauseRequest{Mode: cluster.Redirect, For: ends})
		require.NoError(t, err)
		paused = time.Now()
	}) {
		assert.Equal(t, []string{"fast"}, seen, "the silent one is stale, the slow one paused")
	}
	time.Sleep(time.Until(paused.Add(ends + 10*time.Millisecond)))
	for _, f := range functions {
		assert.Equal(t, []string{"fast", "slow"}, w.seen(t, f))
	}
	w.sweepUntilPruned(t)
}

// sweepUntilPruned has two sweepers sweep in turn until the silent node is pruned,
// and then a few times more.
func (w *world) sweepUntilPruned(t *testing.T) {
	t.Helper()
	var sweepers []*sweep.Sweeper
	for _, wrong := range []time.Duration{-2 * time.Hour, 2 * time.Hour} {
		wall := func() time.Time { return time.Now().Add(wrong) }
		config := sweep.Config{PulseTimeout: tolerance, PruneAfter: tolerance, PruneMax: 1}
		sweepers = append(sweepers, sweep.New(w.registry, config, nil, wall, slog.New(slog.DiscardHandler)))
	}
	var pruned []string
	for began, after := time.Now(), 0; after < 5; {
		require.Less(t, time.Since(began), patience, "the silent node is still there")
		for _, s := range sweepers {
			result, err := s.Sweep(t.Context())
			require.NoError(t, err)
			pruned = append(pruned, result.PrunedIDs...)
		}
		if len(pruned) > 0 {
			after++
		}
		time.Sleep(tolerance / 10)
	}
	assert.Equal(t, []string{"silent"}, pruned)
	s := eventually(t, w.registry, func(*cluster.Snapshot) bool { return true })
	assert.Len(t, s.Nodes, 2)
}

// seenWithin returns, for each function, the ids of the nodes that it leads to once
// do is done; all of it again until that took less than limit.
func (w *world) seenWithin(t *testing.T, limit time.Duration, functions []*locallambda.Host, do func()) [][]string {
	t.Helper()
	for tries := 0; ; tries++ {
		require.Less(t, tries, 10, "functions are asked within %s", limit)
		var seen [][]string
		began := time.Now()
		do()
		for _, f := range functions {
			seen = append(seen, w.seen(t, f))
		}
		if time.Since(began) < limit {
			return seen
		}
	}
}

// seen returns the ids of the nodes that a function leads to, in order.
func (w *world) seen(t *testing.T, function *locallambda.Host) []string {
	t.Helper()
	h := newHistory()
	for range 24 {
		require.NoError(t, decide(t.Context(), function, h))
	}
	return slices.Sorted(maps.Keys(h.led()))
}

// runAgent runs an agent of its own process for a node of green until the test
// ends, its wall clock wrong by so much.
func (w *world) runAgent(t *testing.T, program, id, wrong string) {
	t.Helper()
	log := &journal{}
	cmd := exec.Command(program) //nolint:noctx // ends with the test's cleanup, which outlives its context
	cmd.Env = []string{"AGENT_REDIS=" + w.url, "AGENT_CLUSTER=" + clusterName, "AGENT_NODE=" + id, bentWall + "=" + wrong}
	cmd.Stdout, cmd.Stderr = log, log
	starter := child.NewStarter()
	require.NoError(t, starter.Start(cmd))
	t.Cleanup(func() {
		_ = child.Kill(cmd.Process)
		_ = cmd.Wait() // how it ended is its own affair
		starter.Close()
		if t.Failed() {
			t.Logf("the log of the agent %s:\n%s", id, log.excerpt())
		}
	})
}

// bentAgent builds a program that is an agent whose wall clock may be wrong.
func bentAgent(t *testing.T) string {
	t.Helper()
	changed := texts{}
	for _, file := range []string{"internal/agent/ask.go", "internal/agent/cover.go"} {
		changed.skew(t, file)
	}
	return changed.build(t, "./internal/e2e/testdata/agent", "bent-agent")
}
