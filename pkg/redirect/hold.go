package redirect

import (
	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

// holds reports whether a decision without regard to a session, which came to o,
// may get better in time: the origin or the session's node is on hold, or nobody is
// offered. Nothing waits for an origin that is on stop, nor where all nodes are.
func (q *question) holds(query *selection.Query, o Outcome) bool {
	switch o {
	case Redirected:
		return q.onHold && (q.mode() == cluster.Hold || q.session.Held && q.mode() != cluster.Stop)
	case Unavailable:
		return q.mode() != cluster.Stop && q.table.Waits(query, q.now)
	}
	return false
}

// mode returns the harshest mode in force on the origin as a whole, or on the
// context of the path where the origin is one node; empty if no pause covers it.
func (q *question) mode() cluster.Mode {
	n := cluster.Node{Descriptor: cluster.Descriptor{ID: q.origin.node, Group: q.origin.group}}
	_, p, _ := q.snapshot.Cover(&n, q.table.Context(q.origin.service, q.path), q.now)
	return p.Mode
}

// anyHold reports whether a pause in force at now is in mode hold.
func anyHold(pauses map[cluster.Target]cluster.Pause, now cluster.Millis) bool {
	for _, p := range pauses {
		if p.Covers(now) && p.ModeAt(now) == cluster.Hold {
			return true
		}
	}
	return false
}
