package selection

import "github.com/detourhq/detour/pkg/cluster"

// Session is what the routes that a session names come to.
type Session struct {
	Keeper *cluster.Node // who takes the session's requests; nil if nobody named can
	Known  *cluster.Node // the first node named, whether it can or not; nil if nobody known is named
	Held   bool          // there is no keeper, but a node that is on hold may be one later
	Away   bool          // there is no keeper, but somebody named is of another service
}

// HasRoutes reports whether a node goes by a session route. If none does, no
// session names anybody.
func (t *Table) HasRoutes() bool { return t.routes != nil }

// addRoutes makes c found by its routes.
func (t *Table) addRoutes(c *candidate) {
	for _, route := range c.node.Routes {
		if route == "" {
			continue
		}
		if t.routes == nil {
			t.routes = make(map[string][]*candidate)
		}
		t.routes[route] = append(t.routes[route], c)
	}
}

// Session returns who takes a request of the session that names routes, in order:
// the first node of q's service or the origin's fallbacks that goes by one of them
// and is offered, or would be but for pauses in mode drain. Weight, policy and the
// standby role do not count, and the origin itself may be the one: its session
// lives there. Nobody is gone back to.
func (t *Table) Session(q *Query, routes []string, now cluster.Millis) (s Session) {
	a := t.ask(q, now)
	for _, route := range routes {
		for _, c := range t.routes[route] {
			if !t.within(q, t.groups[c.node.Group]) {
				s.Away = true
				continue
			}
			if s.Known == nil {
				s.Known = c.node
			}
			if !a.reaches(c) {
				continue
			}
			switch t.sessionsIn(c, q.Path, now) {
			case stay:
				return Session{Keeper: c.node, Known: s.Known}
			case wait:
				s.Held = true
			}
		}
	}
	return s
}

// Stays reports whether a request of the session that names routes, having arrived
// at the node called id, is to be answered there: no node named before it takes the
// session, and its own pauses, if any, are all in mode drain. That it was led there,
// and when it was last heard of, does not count.
func (t *Table) Stays(q *Query, routes []string, now cluster.Millis, id string) bool {
	a := t.ask(q, now)
	for _, route := range routes {
		for _, c := range t.routes[route] {
			switch {
			case !t.within(q, t.groups[c.node.Group]):
			case c.node.ID == id:
				return t.sessionsIn(c, q.Path, now) == stay
			case a.reaches(c) && t.sessionsIn(c, q.Path, now) == stay:
				return false
			}
		}
	}
	return false
}

// sessions is what becomes of the sessions of a node.
type sessions int

const (
	leave sessions = iota
	wait
	stay
)

// sessionsIn says what becomes at now of c's sessions whose requests lead to path.
func (t *Table) sessionsIn(c *candidate, path string, now cluster.Millis) sessions {
	n := c.node
	context := t.groups[n.Group].service.contexts.match(path)
	if !fits(n, context) || n.Report.In(context) != cluster.Active {
		return leave
	}
	switch _, p, covered := t.snapshot.Cover(n, context, now); {
	case !covered, p.Mode == cluster.Drain: // the harshest: every other is one too
		return stay
	case p.Mode == cluster.Hold:
		return wait
	}
	return leave
}
