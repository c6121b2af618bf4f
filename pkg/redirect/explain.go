package redirect

import (
	"fmt"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

// Explanation says how a request would be decided, and what is said of each node
// of the service that it was meant for.
type Explanation struct {
	Decision Decision
	Service  string
	Group    string // empty where only the service is known
	Node     string // empty unless the origin is one node
	Hops     int    // redirects that the request has behind it
	Session  string // what becomes of the request's session, for people; empty if it names no node
	Pass     string // the node that a valid pass leads to, whether it can be led there or not; empty if there is none
	Verdicts []selection.Verdict
}

// Explain decides req like Early and Decide and tells why.
func (r *Redirector) Explain(req *Request, s *cluster.Snapshot, now cluster.Millis) Explanation {
	d, early := r.Early(req)
	if !early {
		d = r.Decide(req, s, now)
	}
	q := question{view: r.view(s, now), req: r.asSent(req), now: now}
	q.understand()
	x := Explanation{
		Decision: d, Service: q.origin.service, Group: q.origin.group, Node: q.origin.node,
		Hops: q.hop.count, Verdicts: q.table.Explain(q.query(), q.now),
	}
	x.Pass, _ = r.passOf(q.req, q.now)
	x.Session = q.explainSession(x.Verdicts)
	return x
}

// explainSession says what becomes of the session, empty if it names no node.
func (q *question) explainSession(verdicts []selection.Verdict) string {
	routes, _ := q.routes(nil)
	if len(routes) == 0 {
		return ""
	}
	query := q.query()
	s := q.table.Session(&query, routes, q.now)
	switch known := s.Known; {
	case known == nil:
		return "session names no node that is known here"
	case s.Keeper == known:
		return "session stays with " + known.ID + q.drained(known)
	case s.Keeper != nil:
		return fmt.Sprintf("session goes on at %s: %s is %s", s.Keeper.ID, known.ID, whyNot(known, verdicts))
	case s.Held:
		return fmt.Sprintf("session waits for its node: %s is %s", known.ID, whyNot(known, verdicts))
	case q.sessions.strict:
		return fmt.Sprintf("session leaves %s, but not group %s and its fallbacks: it is %s", known.ID, known.Group, whyNot(known, verdicts))
	default:
		return fmt.Sprintf("session leaves %s: it is %s", known.ID, whyNot(known, verdicts))
	}
}

func whyNot(n *cluster.Node, verdicts []selection.Verdict) string {
	for _, v := range verdicts {
		if v.Node == n {
			return v.Why
		}
	}
	return "not offered"
}

// drained says until when n's sessions stay, empty if no pause covers it. A pause
// that ends before its deadline never has one.
func (q *question) drained(n *cluster.Node) string {
	context := q.table.Context(q.snapshot.Service(n.Group), q.path)
	if _, _, covered := q.snapshot.Cover(n, context, q.now); !covered {
		return ""
	}
	var first cluster.Millis
	for _, t := range []cluster.Target{cluster.All, cluster.GroupTarget(n.Group), cluster.NodeTarget(n.ID), {Kind: cluster.ContextKind, ID: n.ID, Path: context}} {
		p := q.snapshot.Pauses[t] // without a deadline where there is none
		hardens := p.Deadline != 0 && (p.Until == 0 || p.Deadline < p.Until)
		if hardens && p.Covers(q.now) && (first == 0 || p.Deadline < first) {
			first = p.Deadline
		}
	}
	if first == 0 {
		return ": drain without a deadline"
	}
	return ": drain until " + first.Time().Format(time.RFC3339)
}
