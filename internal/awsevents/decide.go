package awsevents

import (
	"slices"
	"strings"

	"github.com/detourhq/detour/pkg/cluster"
)

// decide grants first what AWS will do anyway, then, in the order of names, what
// is only wanted as long as somebody stands in.
func (p *plan) decide() {
	for _, it := range p.items {
		if p.asks(it) && !it.soft() {
			p.grant(it)
		}
	}
	for _, it := range p.items {
		if p.asks(it) && it.soft() && p.standIn(it) {
			p.grant(it)
		}
	}
}

// asks tells whether it wants its targets paused.
func (p *plan) asks(it *item) bool {
	return it.Over == 0 && !it.ends && !it.Resumed && it.Event.asksForPause()
}

// soft tells whether the pause is a kindness, not a necessity.
func (w *work) soft() bool { return w.Event.Kind == Rebalance || w.Event.ofGroup() }

// grant makes it the one who pauses its targets, unless another does it harder.
func (p *plan) grant(it *item) {
	for _, t := range it.targets() {
		if p.strange(it, t) {
			continue
		}
		if other := p.wanted[t]; other == nil || p.harder(it, other) {
			p.wanted[t] = it
		}
	}
}

// harder tells whether a's pause takes more away than b's: by its mode, or by an
// earlier end of its drain. Of equals the first by name counts.
func (p *plan) harder(a, b *item) bool {
	x, y := a.pause(p.config, p.now), b.pause(p.config, p.now)
	switch {
	case x.Mode != y.Mode:
		return x.Mode.Harsher(y.Mode)
	case x.Deadline != y.Deadline:
		return y.Deadline == 0 || x.Deadline != 0 && x.Deadline < y.Deadline
	}
	return a.name < b.name
}

// standIn tells whether each service that it would take nodes from keeps one.
func (p *plan) standIn(it *item) bool {
	targets := it.targets()
	taken := func(n *cluster.Node) bool {
		return slices.ContainsFunc(targets, func(t cluster.Target) bool { return t.Reaches(n) })
	}
	kept := make(map[string]bool)
	for i := range p.snap.Nodes {
		if n := &p.snap.Nodes[i]; !taken(n) && p.offered(n) {
			kept[p.snap.Service(n.Group)] = true
		}
	}
	for i := range p.snap.Nodes {
		if n := &p.snap.Nodes[i]; taken(n) && !kept[p.snap.Service(n.Group)] {
			return false
		}
	}
	return true
}

// offered tells whether n would be offered once the pauses granted so far stand.
func (p *plan) offered(n *cluster.Node) bool {
	if !p.well(n) || n.Role == cluster.Console {
		return false
	}
	for _, t := range covers(n) {
		pause, stands := p.snap.Pauses[t]
		mayGo := p.ours[t] && isOurs(pause) // it stands only if it is wanted
		if p.wanted[t] != nil || stands && pause.Covers(p.now) && !mayGo {
			return false
		}
	}
	return true
}

func covers(n *cluster.Node) []cluster.Target {
	return []cluster.Target{cluster.All, cluster.GroupTarget(n.Group), cluster.NodeTarget(n.ID)}
}

func isOurs(p cluster.Pause) bool { return strings.HasPrefix(p.By, byAWS) }
