package redirect

import (
	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

// question is a request and all that its decision depends on.
type question struct {
	*view
	req    *Request // with the path and query that the client sent
	now    cluster.Millis
	origin origin
	hop    hop
	path   string // of req, without the session

	sessions sessionRule // of the origin's group
	inPath   string      // the session that the path carries; empty if it carries none
	session  selection.Session
	dead     bool // the session's cookie is of no use where the client is led
	direct   bool // the client is led to this very node, not to its group

	host   string // of the Host field
	came   string // by which nodes, as the X-Aspectran-Visited-Nodes field says
	client string // the address that the load balancer itself saw, the right-most of X-Forwarded-For
	secure bool   // it came by https on some stretch of its way, as one of several proxies says
	plain  bool   // it came by http all the way
}

// understand fills in what the request says of itself. ok is false when it could
// be meant for any of several services.
func (q *question) understand() (ok bool) {
	q.hear()
	q.path, q.sessions = q.req.Path, q.unnamed
	q.cutSession()
	o, ok := q.origins.find(q.path, q.host, q.req.TargetGroup)
	q.meant(o)
	return ok
}

// meant makes o the origin of q.
func (q *question) meant(o origin) {
	q.origin = o
	if rule, named := q.named[o.group]; named {
		q.sessions = rule
		q.cutSession()
	}
}

// query returns what is to be picked for q.
func (q *question) query() selection.Query {
	return selection.Query{
		Service: q.origin.service, Group: q.origin.group, Node: q.origin.node,
		Path: q.path, Visited: q.hop.visited, Secure: q.secure, Key: q.client,
	}
}

func (q *question) decision(a Answer, o Outcome, reason string) Decision {
	a.Header = append(a.Header, Field{epochKey, q.epoch})
	return Decision{Answer: a, Outcome: o, Origin: q.origin.label(), Reason: reason}
}
