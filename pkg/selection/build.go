package selection

import (
	"math"
	"slices"

	"github.com/detourhq/detour/pkg/cluster"
)

// NewTable makes s ready for picking by c. Pauses are taken as they stand at now,
// in the registry's time; see [Table.Valid]. s is kept and must not change.
func NewTable(s *cluster.Snapshot, now cluster.Millis, c Config) *Table {
	t := &Table{
		snapshot:   s,
		config:     c,
		candidates: make([]candidate, len(s.Nodes)),
		services:   make(map[string]*service),
		groups:     make(map[string]*group),
		fresh:      math.MinInt64,
		anyFresh:   math.MinInt64,
	}
	t.from, t.until = span(s.Pauses, now)
	for id := range s.Groups {
		t.addGroup(id)
	}
	paused := coverAt(s.Pauses, now)
	for i := range s.Nodes {
		t.candidates[i] = newCandidate(&s.Nodes[i], c)
		t.addNode(&t.candidates[i], &paused)
	}
	for id, g := range t.groups {
		g.order = t.order(id)
		sealAll(g.pools)
	}
	for _, v := range t.services {
		sealAll(v.pools)
	}
	return t
}

// addGroup returns the group called id, made at its first mention.
func (t *Table) addGroup(id string) *group {
	if g := t.groups[id]; g != nil {
		return g
	}
	name := t.snapshot.Service(id)
	s := t.services[name]
	if s == nil {
		s = &service{pools: make(map[string]*shelf)}
		t.services[name] = s
	}
	for _, path := range t.snapshot.Groups[id].Paths {
		s.paths.add(path)
	}
	g := &group{service: s, pools: make(map[string]*shelf)}
	t.groups[id] = g
	return g
}

// order returns the group called id and its fallbacks, as far as they exist.
func (t *Table) order(id string) []*group {
	order := []*group{t.groups[id]}
	for _, f := range t.snapshot.Groups[id].Fallbacks {
		if g := t.groups[f]; g != nil {
			order = append(order, g)
		}
	}
	return order
}

// addNode makes c known, and puts it into the pools of each context in which it
// takes new traffic.
func (t *Table) addNode(c *candidate, paused *cover) {
	n, g := c.node, t.addGroup(c.node.Group)
	t.addRoutes(c)
	covered := paused.node(n)
	if !covered && !n.IsPaused() {
		t.unpaused++
		t.fresh = max(t.fresh, c.fresh)
	}
	tier, fits := tierOf(n)
	contexts, taken := n.ContextList(), false
	for i, context := range contexts {
		g.service.contexts.add(context)
		twice := slices.Contains(contexts[:i], context)
		if !fits || covered || twice || n.Report.In(context) != cluster.Active || paused.context(n, context) {
			continue
		}
		addTo(g.pools, context, tier, c)
		addTo(g.service.pools, context, tier, c)
		taken = true
	}
	if taken {
		g.service.anywhere = append(g.service.anywhere, c)
		t.anyone, t.anyFresh = true, max(t.anyFresh, c.fresh)
	}
}

func addTo(pools map[string]*shelf, context string, t tier, c *candidate) {
	s := pools[context]
	if s == nil {
		s = new(shelf)
		pools[context] = s
	}
	if s[t] == nil {
		s[t] = new(pool)
	}
	s[t].add(c)
}

func sealAll(pools map[string]*shelf) {
	for _, s := range pools {
		for _, p := range s {
			if p != nil {
				p.seal()
			}
		}
	}
}
