package sweep

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestANodeIsPrunedWhenItWasSilentForTooLong(t *testing.T) {
	for _, c := range []struct {
		name   string
		every  int64 // its own pulse interval, ms
		silent time.Duration
		pruned bool
	}{
		{"the timeout and PruneAfter", 0, timeout + after, false},
		{"a millisecond more", 0, timeout + after + time.Millisecond, true},
		{"short intervals of its own do not matter", 1000, timeout + after, false},
		{"three long intervals of its own and PruneAfter", 20_000, time.Minute + after, false},
		{"a millisecond more than these", 20_000, time.Minute + after + time.Millisecond, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.registerAs(cluster.Descriptor{ID: "silent", PulseMS: c.every})
			w.register("well")
			w.heard("silent", c.silent)
			r := w.sweep(usual)
			assert.Equal(t, c.pruned, r.Pruned == 1)
			assert.Equal(t, 2, r.Nodes)
			assert.Equal(t, 1, r.Stale)
			assert.Empty(t, r.Withheld)
			assert.Equal(t, c.pruned, len(w.registered()) == 1)
		})
	}
}

func TestSilentIsStaleFromItsToleranceOn(t *testing.T) {
	w := newWorld(t)
	w.register("a", "b", "well")
	w.heard("a", timeout)
	w.heard("b", timeout+time.Millisecond)
	assert.Equal(t, 1, w.sweep(usual).Stale)
}

func TestNoMoreThanTheCapIsPrunedAndTheOldestFirst(t *testing.T) {
	for _, c := range []struct {
		name        string
		max         float64
		all, silent int
		pruned      int
	}{
		{"a share of nothing is one", 0, 20, 5, 1},
		{"less than one is one", 0.15, 6, 5, 1},
		{"a share is rounded down", 0.15, 19, 5, 2},
		{"a whole share counts", 0.15, 20, 5, 3},
		{"one whose binary form falls short counts as well", 0.29, 100, 40, 29},
		{"all but the one that lives", 1, 20, 19, 19},
		{"over a hundred, which is more than one script removes", 0.9, 130, 120, 117},
		{"fewer silent ones than the cap", 0.5, 20, 2, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			for i := range c.all {
				w.register(fmt.Sprintf("n%03d", i))
			}
			var oldest []string
			for i := range c.silent { // the last one has been silent for the longest
				id := fmt.Sprintf("n%03d", c.all-1-i)
				w.heard(id, time.Hour-time.Duration(i)*time.Second)
				oldest = append(oldest, id)
			}
			config := usual
			config.PruneMax = c.max
			r := w.sweep(config)
			assert.Equal(t, oldest[:c.pruned], r.PrunedIDs)
			assert.Equal(t, c.pruned, r.Pruned)
			assert.Len(t, w.registered(), c.all-c.pruned)
		})
	}
}

func TestPausedNodesCountAsRegistered(t *testing.T) {
	w := newWorld(t)
	for i := range 20 {
		id := fmt.Sprintf("n%02d", i)
		w.register(id)
		if i < 3 {
			w.heard(id, time.Hour)
			continue
		}
		_, err := w.registry.Report(t.Context(), id, cluster.Report{Generation: w.nodes[id].Generation, Status: cluster.Paused})
		require.NoError(t, err)
	}
	_, err := w.registry.Pause(t.Context(), cluster.GroupTarget("blue"), cluster.PauseRequest{})
	require.NoError(t, err)
	assert.Equal(t, 3, w.sweep(usual).Pruned, "15 % of all twenty")
}

func TestAPrunedNodeThatLivesRegistersAgain(t *testing.T) {
	w := newWorld(t)
	w.register("a", "b")
	w.heard("a", time.Hour)
	assert.Equal(t, []string{"a"}, w.sweep(usual).PrunedIDs)
	_, err := w.registry.Pulse(t.Context(), "a", w.nodes["a"].Generation, nil)
	require.ErrorIs(t, err, cluster.ErrUnknown)
	_, _, err = w.registry.Register(t.Context(), w.nodes["a"], cluster.Report{Status: cluster.Active})
	require.NoError(t, err, "its generation has not left")
}

func TestAPulseInTheFutureAgesFromNow(t *testing.T) {
	w := newWorld(t)
	w.register("ahead", "now")
	w.heard("ahead", -time.Millisecond)
	w.heard("now", 0)
	r := w.sweep(usual)
	assert.Equal(t, []string{"ahead"}, r.Stamped)
	assert.Zero(t, r.Stale)
	for _, n := range w.snapshot().Nodes {
		assert.Equal(t, w.now(), n.Pulse, n.ID)
	}
	w.heard("ahead", -10*365*24*time.Hour)
	assert.Equal(t, []string{"ahead"}, w.sweep(usual).Stamped)
	w.pass(timeout + time.Millisecond)
	assert.Equal(t, 2, w.sweep(usual).Stale)
}

func TestPausesEndWhenTheirTimeIsOver(t *testing.T) {
	w := newWorld(t)
	for id, d := range map[string]time.Duration{"a": time.Minute, "b": time.Minute + time.Millisecond, "c": 0} {
		_, err := w.registry.Pause(t.Context(), cluster.NodeTarget(id), cluster.PauseRequest{For: d})
		require.NoError(t, err)
	}
	assert.Empty(t, w.sweep(usual).Ended)
	w.pass(time.Minute)
	assert.Equal(t, []string{"node:a"}, w.sweep(usual).Ended)
	assert.Equal(t, w.snapshot().Epoch, w.notes().Epoch, "own changes are noted")
	w.pass(time.Millisecond)
	assert.Equal(t, []string{"node:b"}, w.sweep(usual).Ended)
	assert.Len(t, w.snapshot().Pauses, 1)
}

func TestASweepNotesTheEpochThatItLeaves(t *testing.T) {
	w := newWorld(t)
	w.register("a", "b")
	before := w.snapshot().Epoch
	w.sweep(usual)
	assert.Equal(t, before, w.notes().Epoch)
	w.heard("a", time.Hour)
	assert.Equal(t, 1, w.sweep(usual).Pruned)
	assert.Greater(t, w.notes().Epoch, before)
	assert.Equal(t, w.snapshot().Epoch, w.notes().Epoch)
	assert.Empty(t, w.sweep(usual).Withheld)
}

func TestAnEmptyRegistryIsSweptWithoutAWord(t *testing.T) {
	w := newWorld(t)
	r := w.sweep(usual)
	assert.False(t, r.AllStale)
	assert.Empty(t, r.Withheld)
	assert.Equal(t, cluster.SweepNotes{At: w.now()}, w.notes())
}

func TestAResultIsOneSmallObject(t *testing.T) {
	body, err := json.Marshal(Result{Nodes: 3, Stale: 1, Pruned: 1, PrunedIDs: []string{"a"}})
	require.NoError(t, err)
	assert.JSONEq(t, `{"nodes":3,"stale":1,"all_stale":false,"pruned":1,"pruned_ids":["a"],"held":false}`, string(body))
}
