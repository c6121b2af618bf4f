package redirect

import (
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
	return Explanation{
		Decision: d, Service: q.origin.service, Group: q.origin.group, Node: q.origin.node,
		Hops: q.hop.count, Verdicts: q.table.Explain(q.query(), q.now),
	}
}
