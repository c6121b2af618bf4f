package selection

import (
	"slices"

	"github.com/detourhq/detour/pkg/cluster"
)

// Query is what a request asks for.
type Query struct {
	Service string // groups of this service may answer
	Group   string // the origin's group; empty if unknown
	Node    string // id of the origin, where it is one node; else empty
	Path    string // raw, as received, without the query
	Visited []Mark // of the nodes that the request came from
	Secure  bool   // only nodes whose endpoint is https: from there nobody is led to http
	Key     string // what stays the same for a client; for Rendezvous, empty if unknown

	// Domain is a group that the request's session is not to leave: only its nodes
	// and those of its fallbacks may be picked. Empty means no such bounds.
	Domain string
}

// Outcome says how a pick ended.
type Outcome int

// The outcomes.
const (
	Picked     Outcome = iota
	Nobody             // no node is offered
	NoContext          // nodes are offered, but none knows the path, offered or not
	Overloaded         // no node is offered, but one would be if it did not report overload
)

// Pick returns a node that is offered to q at now, in the registry's time, or nil
// and why there is none.
//
// The longest context registered in a service that is a prefix of the path decides
// who of it qualifies: the nodes that list exactly that context. Among them the
// origin's group comes first, then its fallbacks in order, which may belong to
// other services, then any group of the service. Nodes without weight come after
// all that have some, standby nodes after all others. A domain takes the place of
// the origin's group, and nobody else of the service comes after its fallbacks.
//
// With Rendezvous and no key the pick is as by Random.
func (t *Table) Pick(q Query, now cluster.Millis, rnd Source) (*cluster.Node, Outcome) {
	a := t.ask(&q, now)
	a.rnd = rnd
	order, last := t.bounds(&q)
	for k := range tiers {
		if c := pickTier(&a, last, order, q.Path, k); c != nil {
			return c.node, Picked
		}
	}
	switch s := t.services[q.Service]; {
	case s != nil && s.isForeign(&a, order, q.Path):
		return nil, NoContext
	case t.isOverloaded(&a, &q):
		return nil, Overloaded
	}
	return nil, Nobody
}

// bounds returns where nodes for q are looked for: in the groups of order, then in
// all of last unless that is nil.
func (t *Table) bounds(q *Query) (order []*group, last *service) {
	id := q.Group
	if q.Domain != "" {
		id = q.Domain
	} else {
		last = t.services[q.Service]
	}
	if g := t.groups[id]; g != nil {
		order = g.order
	}
	return order, last
}

// within reports whether nodes of g may be picked for q.
func (t *Table) within(q *Query, g *group) bool {
	order, last := t.bounds(q)
	return last != nil && g.service == last || slices.Contains(order, g)
}

// pickTier goes through the pools of tier k in order, those of s last.
func pickTier(a *ask, s *service, order []*group, path string, k tier) *candidate {
	for _, g := range order {
		if c := g.pool(path, k).pick(a); c != nil {
			return c
		}
	}
	if s == nil {
		return nil
	}
	return s.pool(path, k).pick(a)
}

// pick returns a member that a allows, chosen by its policy; nil if there is none.
func (p *pool) pick(a *ask) *candidate {
	if p == nil || a.heard > p.fresh && !a.failOpen {
		return nil
	}
	switch a.policy {
	case RoundRobin:
		return p.draw(a, p.nextTurn(a.rnd))
	case LeastLoad:
		return p.lesserLoad(a)
	case Rendezvous:
		return p.rendezvous(a)
	default:
		return p.draw(a, p.position(a.rnd))
	}
}

// lesserLoad draws twice and returns the one with less load: the first of equals,
// and of any two whose loads are not both known. A node that publishes no figures
// is thus picked by its weight, and makes no herd.
func (p *pool) lesserLoad(a *ask) *candidate {
	first := p.draw(a, p.position(a.rnd))
	if first == nil {
		return nil
	}
	if second := p.draw(a, p.position(a.rnd)); second.load < first.load {
		return second
	}
	return first
}

// isForeign reports whether path leads to no context that s or one of order knows,
// while somebody of s is offered elsewhere.
func (s *service) isForeign(a *ask, order []*group, path string) bool {
	if s.knows(path) {
		return false
	}
	for _, g := range order {
		if g.service.knows(path) {
			return false
		}
	}
	for _, c := range s.anywhere {
		if a.allows(c) {
			return true
		}
	}
	return false
}

func (s *service) knows(path string) bool {
	return s.contexts.match(path) != "" || s.paths.match(path) != ""
}
