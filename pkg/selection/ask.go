package selection

import (
	"slices"

	"github.com/detourhq/detour/pkg/cluster"
)

// ask is one query at one instant: what excludes a node for the moment.
type ask struct {
	policy     Policy
	visited    []Mark
	origin     string // id of the origin node, empty if there is none
	originMark Mark
	key        uint64 // hash of the client's key, for Rendezvous
	secure     bool   // only what is reached by https
	now        cluster.Millis
	heard      cluster.Millis // as now, for staleness
	fadeIn     cluster.Millis
	failOpen   bool // stale nodes are as good as others
	rnd        Source
}

// ask returns q at now; the random numbers are the caller's to add.
func (t *Table) ask(q *Query, now cluster.Millis) ask {
	a := ask{
		policy:     t.config.Policy,
		visited:    q.Visited,
		origin:     q.Node,
		originMark: MarkOf(q.Node),
		secure:     q.Secure,
		now:        now,
		heard:      t.snapshot.LivenessAt(now),
		fadeIn:     cluster.Millis(t.config.FadeIn.Milliseconds()),
		failOpen:   t.FailOpen(now),
	}
	if a.policy == Rendezvous {
		if q.Key == "" {
			a.policy = Random
		} else {
			a.key = hashOf(q.Key)
		}
	}
	return a
}

// allows reports whether c is reached and not the origin.
func (a *ask) allows(c *candidate) bool { return a.reaches(c) && !a.isOrigin(c) }

// reaches reports whether c is fresh, not visited, and reached by https where that
// is asked.
func (a *ask) reaches(c *candidate) bool {
	return (a.heard <= c.fresh || a.failOpen) && (c.secure || !a.secure) && !slices.Contains(a.visited, c.mark)
}

func (a *ask) isOrigin(c *candidate) bool { return c.mark == a.originMark && c.node.ID == a.origin }

func (a *ask) isYoung(c *candidate) bool { return isYoung(c.started, a.now, a.fadeIn) }

func (a *ask) fade(c *candidate) float64 { return fadeAt(c.started, a.now, a.fadeIn) }

// weight returns the weight that c has in the pick.
func (a *ask) weight(c *candidate, fades bool) float64 {
	if fades {
		return c.weight * a.fade(c)
	}
	return c.weight
}
