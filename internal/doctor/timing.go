package doctor

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

func pulseTimeout(f *facts, tell teller) {
	if c := f.config; c.PulseEvery >= c.PulseTimeout {
		tell(Wrong, "DETOUR_PULSE_TIMEOUT", fmt.Sprintf("nodes pulse every %s and count as stale after %s: a node that does not say its interval is stale between two pulses", c.PulseEvery, c.PulseTimeout),
			"set it to three times DETOUR_PULSE_EVERY")
	}
}

// prune knows that nobody is pruned after a gap between two sweeps that is longer
// than DETOUR_PRUNE_AFTER.
func prune(f *facts, tell teller) {
	if c := f.config; c.PruneAfter < c.SweepEvery {
		tell(Wrong, "DETOUR_PRUNE_AFTER", fmt.Sprintf("it is %s, and a sweep is made every %s: each looks like one after an outage, and nobody is ever pruned", c.PruneAfter, c.SweepEvery),
			"set it to several times DETOUR_SWEEP_EVERY")
	}
}

// lateSweep is more than the longest gap between the sweeps of two ticks.
const lateSweep = 3 * time.Minute

func lastSweep(f *facts, tell teller) {
	const remedy = "look whether the heartbeat function is invoked each minute and what its log says (docs/runbook.md, TickAgeAlarm)"
	late := max(lateSweep, 3*f.config.SweepEvery)
	switch age := f.now().Sub(f.notes.At); {
	case f.notes.Unreadable:
		tell(Warning, "", "the notes of the last sweep cannot be read; the next one writes them anew", remedy)
	case f.notes.At == 0:
		tell(Wrong, "", "no sweep was ever made: nobody is pruned, and rules do not follow by themselves", remedy)
	case age > late:
		tell(Wrong, "", fmt.Sprintf("the last sweep was %s ago: nobody is pruned, and rules do not follow by themselves", age.Round(time.Second)), remedy)
	}
}

// longPause is what a deployment or an incident does not take.
const longPause = 24 * time.Hour

func pauses(f *facts, tell teller) {
	byText := make(map[string]cluster.Target)
	for t := range f.snapshot.Pauses {
		byText[t.String()] = t
	}
	for _, name := range slices.Sorted(maps.Keys(byText)) {
		t := byText[name]
		p := f.snapshot.Pauses[t]
		if !p.Covers(f.now()) {
			continue
		}
		age := f.now().Sub(p.Since)
		switch {
		case !f.reaches(t):
			tell(Warning, name, "the pause covers no node that is registered", "detour resume "+name+", unless its nodes are to come")
		case age > longPause:
			tell(Warning, name, fmt.Sprintf("it has been paused for %s, by %q: %s", age.Round(time.Hour), p.By, p.Reason), "detour resume "+name+", unless that is still meant")
		case p.Until == 0:
			tell(Note, name, fmt.Sprintf("it is paused without an end, by %q: %s", p.By, p.Reason), "detour resume "+name+" when it is done; pauses by hand best have --for")
		}
	}
}

// reaches reports whether a pause of t covers any node, in whole or in part.
func (f *facts) reaches(t cluster.Target) bool {
	return slices.ContainsFunc(f.snapshot.Nodes, func(n cluster.Node) bool { return t.Reaches(&n) })
}
