package sweep

import (
	"cmp"
	"slices"

	"github.com/detourhq/detour/pkg/cluster"
)

// patience is how many sweeps in a row have to find every node stale before one
// that does so prunes.
const patience = 30

// What withholds pruning, for people.
const (
	everyNodeIsStale = "all nodes are stale"
	afterAGap        = "first sweep after a gap"
	notesUnreadable  = "notes of the last sweep cannot be read"
	epochFell        = "epoch is lower than at the last sweep"
	clockFell        = "clock is behind the last sweep"
	soonAfter        = "less than a pulse timeout after a disturbance"
)

// finding is what a sweep knows when it judges, in the registry's time.
type finding struct {
	now      cluster.Millis // when nodes and pauses were read
	done     cluster.Millis // when the probes were through
	epoch    int64
	allStale bool
}

// judge decides whether silence may be believed. It returns the notes for the
// next sweep, and why nobody is to be pruned, empty if silent nodes are.
//
// A disturbance sets Hold, and begins the count of all-stale sweeps anew, so that
// thirty undisturbed ones are needed. An all-stale sweep by itself sets no Hold,
// or the thirtieth would keep the next from pruning: the first sweep that hears
// someone again sets it, for a pulse timeout after the last all-stale one.
func (c Config) judge(last cluster.SweepNotes, f finding) (next cluster.SweepNotes, why string) {
	// A hold from before the clock stepped back must not last longer than one of now.
	next = cluster.SweepNotes{At: f.done, Epoch: f.epoch, Hold: min(last.Hold, f.now.Add(c.PulseTimeout))}
	if f.allStale {
		next.AllStale = last.AllStale + 1
	} else if last.AllStale > 0 {
		next.Hold = max(next.Hold, last.At.Add(c.PulseTimeout))
	}
	why = c.disturbed(last, f)
	switch {
	case why != "":
		next.AllStale = min(next.AllStale, 1)
		next.Hold = f.done.Add(c.PulseTimeout)
	case f.allStale && next.AllStale <= patience:
		why = everyNodeIsStale
	case f.now < next.Hold:
		why = soonAfter
	}
	return next, why
}

// disturbed tells what makes the registry another than the last sweep left, if
// anything. Before the first sweep ever there is nothing to compare with.
func (c Config) disturbed(last cluster.SweepNotes, f finding) string {
	switch {
	case last.Unreadable:
		return notesUnreadable
	case last.At == 0:
		return ""
	case f.epoch < last.Epoch:
		return epochFell
	case f.now < last.At:
		return clockFell
	case f.now.Sub(last.At) > c.PruneAfter:
		return afterAGap
	}
	return ""
}

// prunable returns those of silent that are to be pruned at now, the longest
// silent ones first, where as many as all are registered. After a disturbance a
// node that may be silent for longer than the pulse timeout has longer to be
// heard again, by as much.
func (c Config) prunable(silent []cluster.Node, all int, now, hold cluster.Millis) []cluster.Node {
	var old []cluster.Node
	for _, n := range silent {
		tolerance := n.Tolerance(c.PulseTimeout)
		if now.Sub(n.Pulse)-tolerance > c.PruneAfter && now.Sub(hold) >= tolerance-c.PulseTimeout {
			old = append(old, n)
		}
	}
	slices.SortFunc(old, func(a, b cluster.Node) int {
		return cmp.Or(cmp.Compare(a.Pulse, b.Pulse), cmp.Compare(a.ID, b.ID))
	})
	return old[:min(len(old), c.most(all))]
}

// most returns how many of all nodes one sweep may prune. What is lost to the
// binary form of a decimal share (0.29 of 100 is 28.999…) is made good.
func (c Config) most(all int) int {
	const lost = 1e-9
	return max(1, int(c.PruneMax*float64(all)+lost))
}
