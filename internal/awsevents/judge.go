package awsevents

import (
	"slices"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// well tells whether n lives and says that it is active. That AWS calls an
// instance or task running says nothing.
func (p *plan) well(n *cluster.Node) bool { return n.Report.Status == cluster.Active && !p.stale(n) }

func (p *plan) stale(n *cluster.Node) bool {
	return n.Stale(p.snap.LivenessAt(p.now), p.config.PulseTimeout)
}

// up tells whether a node of it is well.
func (p *plan) up(it *item) bool { return slices.ContainsFunc(it.nodes, p.well) }

// gone tells whether no node of it is heard any more.
func (p *plan) gone(it *item) bool {
	return !slices.ContainsFunc(it.nodes, func(n *cluster.Node) bool { return !p.stale(n) })
}

// drained tells whether there is nothing left to wait for on the nodes of it.
func (p *plan) drained(it *item) bool {
	return !slices.ContainsFunc(it.nodes, func(n *cluster.Node) bool { return !p.stale(n) && !p.quiet(n) })
}

// landing is how long a client that was led to a node may take to arrive there.
const landing = 2 * time.Second

// quiet tells whether n has seen every pause on it, and nothing is under way, to it
// or in it. A node without figures never is.
func (p *plan) quiet(n *cluster.Node) bool {
	_, pause, covered := p.snap.Cover(n, "", p.now)
	f := n.Figures
	if !covered || f == nil || f.InFlight > 0 || pause.Mode == cluster.Drain && f.Sessions > 0 {
		return false
	}
	if p.now.Sub(max(pause.Since, f.LastArrival)) < landing {
		return false
	}
	for _, t := range covers(n) {
		if q, stands := p.snap.Pauses[t]; stands && q.Covers(p.now) && f.SeenEpoch < q.Epoch {
			return false
		}
	}
	return true
}

// due tells whether AWS is to be answered.
func (p *plan) due(it *item) bool {
	switch it.Event.Kind {
	case Terminate:
		if len(it.Targets) == 0 {
			_, ours := p.groupOf(it.Event.Source)
			return ours
		}
		return p.drained(it) || p.now >= it.deadline(p.config)
	case Launch:
		return p.up(it)
	case Hook:
		return p.ready(it.Event) || p.now >= it.until(p.config)
	}
	return false
}

// over tells whether nothing is left to do about it. Nodes may come and go
// meanwhile: an application that is started again on an instance which AWS takes
// is as paused as before.
func (p *plan) over(it *item) bool {
	late := p.now >= it.until(p.config)
	switch it.Event.Kind {
	case Hook:
		return it.Answered != ""
	case Launch:
		return it.Answered != "" || late
	case Terminate:
		return it.superseded || late || it.Answered != "" && len(it.nodes) == 0
	case Task: // none comes back
		return late || !it.Event.asksForPause() || len(it.Targets) > 0 && len(it.nodes) == 0
	}
	return it.superseded || late || !it.Event.asksForPause()
}

// ready tells whether the group that e's deployment is of has a node that is
// well, paused or not. Where no group is known to be meant, any node counts.
func (p *plan) ready(e Event) bool {
	for _, it := range p.items {
		if e.Kind == Hook && it.Event.Kind == Deployment && it.Event.Deployment == e.Deployment {
			e.Source = it.Event.Source
		}
	}
	group, known := p.groupOf(e.Source)
	return slices.ContainsFunc(p.snap.Nodes, func(n cluster.Node) bool {
		return (!known || n.Group == group) && p.well(&n)
	})
}
