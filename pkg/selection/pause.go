package selection

import (
	"math"

	"github.com/detourhq/detour/pkg/cluster"
)

// cover holds what the pauses in force are put on. Of any mode: none lets new
// traffic in. It says what [cluster.Snapshot.Cover] says, in a quarter of the time,
// which counts when each of 10,000 nodes is asked for.
type cover struct {
	all      bool
	groups   map[string]bool
	nodes    map[string]bool
	contexts map[cluster.Target]bool
}

func coverAt(pauses map[cluster.Target]cluster.Pause, now cluster.Millis) cover {
	c := cover{groups: make(map[string]bool), nodes: make(map[string]bool), contexts: make(map[cluster.Target]bool)}
	for on, p := range pauses {
		if !p.Covers(now) {
			continue
		}
		switch on.Kind {
		case cluster.AllKind:
			c.all = true
		case cluster.GroupKind:
			c.groups[on.ID] = true
		case cluster.NodeKind:
			c.nodes[on.ID] = true
		case cluster.ContextKind:
			c.contexts[on] = true
		}
	}
	return c
}

// node reports whether n as a whole is covered.
func (c *cover) node(n *cluster.Node) bool {
	return c.all || c.nodes[n.ID] || c.groups[n.Group]
}

// context reports whether n's context is covered by a pause of its own.
func (c *cover) context(n *cluster.Node, context string) bool {
	if len(c.contexts) == 0 {
		return false
	}
	return c.contexts[cluster.Target{Kind: cluster.ContextKind, ID: n.ID, Path: context}]
}

// span returns the time around now in which no pause ends or hardens: from the
// first instant to the one after the last.
func span(pauses map[cluster.Target]cluster.Pause, now cluster.Millis) (from, until cluster.Millis) {
	from, until = math.MinInt64, math.MaxInt64
	for _, p := range pauses {
		for _, at := range [...]cluster.Millis{p.Until, p.Deadline} {
			switch {
			case at == 0: // never
			case at <= now:
				from = max(from, at)
			default:
				until = min(until, at)
			}
		}
	}
	return from, until
}
