package sweep

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestJudge(t *testing.T) {
	const now cluster.Millis = 1_800_000_000_000
	const ms = time.Millisecond
	type notes = cluster.SweepNotes
	before := now.Add(-every)
	for _, c := range []struct {
		name string
		last notes
		f    finding
		next notes // At is always done
		why  string
	}{
		{"the first sweep ever is no gap", notes{}, finding{epoch: 9}, notes{Epoch: 9}, ""},
		{"nor is it a disturbance that all are stale then", notes{}, finding{allStale: true}, notes{AllStale: 1}, everyNodeIsStale},
		{"notes that cannot be read are a disturbance", notes{Unreadable: true}, finding{epoch: 9}, notes{Epoch: 9, Hold: now.Add(timeout)}, notesUnreadable},
		{"nothing happened", notes{At: before, Epoch: 9}, finding{epoch: 9}, notes{Epoch: 9}, ""},

		{"the 30th all-stale sweep", notes{At: before, AllStale: 29}, finding{allStale: true}, notes{AllStale: 30}, everyNodeIsStale},
		{"the 31st", notes{At: before, AllStale: 30}, finding{allStale: true}, notes{AllStale: 31}, ""},
		{
			"the 31st while another disturbance is fresh",
			notes{At: before, AllStale: 30, Hold: now + 1},
			finding{allStale: true},
			notes{AllStale: 31, Hold: now + 1},
			soonAfter,
		},
		{
			"someone was heard, not a timeout after an all-stale sweep",
			notes{At: now.Add(ms - timeout), AllStale: 31},
			finding{},
			notes{Hold: now + 1},
			soonAfter,
		},
		{"someone was heard a timeout after it", notes{At: now.Add(-timeout), AllStale: 31}, finding{}, notes{Hold: now}, ""},
		{"a hold that is not over", notes{At: before, Hold: now + 1}, finding{}, notes{Hold: now + 1}, soonAfter},
		{"a hold that is over", notes{At: before, Hold: now}, finding{}, notes{Hold: now}, ""},
		{
			"a hold of another time counts from now",
			notes{At: before, Hold: now.Add(time.Hour)},
			finding{},
			notes{Hold: now.Add(timeout)},
			soonAfter,
		},

		{"a gap of PruneAfter", notes{At: now.Add(-after)}, finding{}, notes{}, ""},
		{"a gap of a millisecond more", notes{At: now.Add(-after - ms)}, finding{}, notes{Hold: now.Add(timeout)}, afterAGap},
		{
			"a gap breaks a row of all-stale sweeps",
			notes{At: now.Add(-after - ms), AllStale: 500},
			finding{allStale: true},
			notes{AllStale: 1, Hold: now.Add(timeout)},
			afterAGap,
		},
		{"a clock that stands still", notes{At: now}, finding{}, notes{}, ""},
		{"a clock that stepped back", notes{At: now + 1}, finding{}, notes{Hold: now.Add(timeout)}, clockFell},

		{"a higher epoch", notes{At: before, Epoch: 8}, finding{epoch: 9}, notes{Epoch: 9}, ""},
		{"a lower epoch", notes{At: before, Epoch: 9}, finding{epoch: 8}, notes{Epoch: 8, Hold: now.Add(timeout)}, epochFell},
		{"a missing epoch", notes{At: before, Epoch: 1}, finding{epoch: 0}, notes{Hold: now.Add(timeout)}, epochFell},
		{"no epoch, as before", notes{At: before}, finding{}, notes{}, ""},
		{
			"a lower epoch breaks a row of all-stale sweeps",
			notes{At: before, Epoch: 9, AllStale: 30},
			finding{epoch: 8, allStale: true},
			notes{Epoch: 8, AllStale: 1, Hold: now.Add(timeout)},
			epochFell,
		},
		{
			"a hold begins when the probes were through",
			notes{At: before, Epoch: 9},
			finding{done: now + 7, epoch: 8},
			notes{Epoch: 8, Hold: now.Add(timeout) + 7},
			epochFell,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.f.now = now
			c.f.done = max(c.f.done, now)
			c.next.At = c.f.done
			next, why := usual.judge(c.last, c.f)
			assert.Equal(t, c.why, why)
			assert.Equal(t, c.next, next)
		})
	}
}

// silentFleet is a world of three nodes that have been silent for an hour.
func silentFleet(t *testing.T) *world {
	w := newWorld(t)
	w.register("a", "b", "c")
	for id := range w.nodes {
		w.heard(id, time.Hour)
	}
	return w
}

func TestAFleetThatIsSilentAsAWholeIsKeptForThirtySweeps(t *testing.T) {
	w := silentFleet(t)
	for range 30 {
		r := w.sweep(usual)
		assert.True(t, r.AllStale)
		assert.Equal(t, everyNodeIsStale, r.Withheld)
		w.pass(every)
	}
	for left := 3; left > 0; left-- { // from then on by the cap
		assert.Equal(t, 1, w.sweep(usual).Pruned)
		assert.Len(t, w.registered(), left-1)
		w.pass(every)
	}
}

func TestOneVoiceBeginsTheThirtyAnew(t *testing.T) {
	w := silentFleet(t)
	for range 29 {
		w.sweep(usual)
		w.pass(every)
	}
	w.pulse("a")
	assert.Equal(t, soonAfter, w.sweep(usual).Withheld)
	w.heard("a", time.Hour)
	for range 30 {
		w.pass(every)
		assert.Equal(t, everyNodeIsStale, w.sweep(usual).Withheld)
	}
	w.pass(every)
	assert.Equal(t, 1, w.sweep(usual).Pruned)
}

func TestAfterADisturbanceEveryNodeHasATimeoutToBeHeard(t *testing.T) {
	for _, c := range []struct {
		name    string
		disturb func(w *world)
		why     string
	}{
		{"all were stale", func(w *world) {
			for id := range w.nodes {
				w.heard(id, time.Hour)
			}
		}, everyNodeIsStale},
		{"a gap", func(w *world) { w.pass(after + time.Millisecond) }, afterAGap},
		{"a lower epoch", func(w *world) { w.raw.Set(w.t.Context(), prefix+":epoch", "1", 0) }, epochFell},
		{"a missing epoch", func(w *world) { w.raw.Del(w.t.Context(), prefix+":epoch") }, epochFell},
		{"an unreadable epoch", func(w *world) { w.raw.Set(w.t.Context(), prefix+":epoch", "x", 0) }, epochFell},
		{"a clock that stepped back", func(w *world) { w.pass(-time.Second) }, clockFell},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.register("silent", "well")
			assert.Empty(t, w.sweep(usual).Withheld)
			c.disturb(w)
			w.heard("silent", time.Hour)
			assert.Equal(t, c.why, w.sweep(usual).Withheld)
			w.pulse("well")
			w.pass(timeout - time.Millisecond)
			assert.Equal(t, soonAfter, w.sweep(usual).Withheld)
			w.pass(time.Millisecond)
			assert.Equal(t, []string{"silent"}, w.sweep(usual).PrunedIDs)
		})
	}
}

func TestANodeOfLongIntervalsHasLongerToBeHeardAgain(t *testing.T) {
	w := newWorld(t)
	w.register("well")
	w.registerAs(cluster.Descriptor{ID: "slow", PulseMS: 60_000})
	w.sweep(usual)
	w.pass(time.Hour)
	assert.Equal(t, afterAGap, w.sweep(usual).Withheld)
	step := func(d time.Duration) Result {
		w.pass(d)
		w.pulse("well")
		r := w.sweep(usual)
		assert.Empty(t, r.Withheld)
		return r
	}
	for range 11 {
		assert.Empty(t, step(timeout).PrunedIDs, "a node that began to pulse at the gap is not stale yet")
	}
	assert.Empty(t, step(timeout-time.Millisecond).PrunedIDs)
	assert.Equal(t, []string{"slow"}, step(time.Millisecond).PrunedIDs)
}
