package selection

import (
	"slices"

	"github.com/detourhq/detour/pkg/cluster"
)

// Waits reports whether, nobody being offered to q, time may bring somebody: unless
// every node that could be is on stop, which ends only when someone resumes it.
func (t *Table) Waits(q *Query, now cluster.Millis) bool {
	stopped := false
	for i := range t.candidates {
		n := t.candidates[i].node
		g := t.groups[n.Group]
		context := g.service.contexts.match(q.Path)
		if !t.within(q, g) || !fits(n, context) {
			continue
		}
		if _, p, _ := t.snapshot.Cover(n, context, now); p.Mode != cluster.Stop {
			return true
		}
		stopped = true
	}
	return !stopped
}

// isOverloaded reports whether somebody would be offered to q but for reporting
// overload. It looks at every node.
func (t *Table) isOverloaded(a *ask, q *Query) bool {
	for i := range t.candidates {
		c := &t.candidates[i]
		n, g := c.node, t.groups[c.node.Group]
		context := g.service.contexts.match(q.Path)
		if n.Report.In(context) != cluster.Overloaded || !t.within(q, g) || !a.allows(c) || !fits(n, context) {
			continue
		}
		if _, _, covered := t.snapshot.Cover(n, context, a.now); !covered {
			return true
		}
	}
	return false
}

// fits reports whether n, by its role and its contexts, is meant for requests that
// lead to context.
func fits(n *cluster.Node, context string) bool {
	_, ok := tierOf(n)
	return ok && context != "" && slices.Contains(n.ContextList(), context)
}
