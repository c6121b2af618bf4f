package redirect

import (
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/detourhq/detour/pkg/affinity"
	"github.com/detourhq/detour/pkg/cluster"
)

// sessionRule says where the sessions of a group are found, how they name nodes,
// and what becomes of those that have lost theirs.
type sessionRule struct {
	cookie     string // empty means nowhere
	parameter  affinity.Parameter
	format     affinity.Format
	strict     bool
	expireDead bool
}

// newSessionRule returns what a says, with cookie where it names none. A name or a
// format that cannot be, which only a foreign hand writes, counts as not given.
func newSessionRule(a cluster.Affinity, cookie string) sessionRule {
	if httpguts.ValidHeaderFieldName(a.Cookie) {
		cookie = a.Cookie
	}
	format, err := affinity.ParseFormat(a.Format)
	if err != nil {
		format = affinity.Recognise
	}
	return sessionRule{
		cookie: cookie, parameter: affinity.ParameterOf(cookie), format: format,
		strict: a.Strict, expireDead: a.ExpireDead,
	}
}

// sessionRules returns the rules of the groups that have one.
func sessionRules(groups map[string]cluster.Group, cookie string) map[string]sessionRule {
	rules := make(map[string]sessionRule)
	for id, g := range groups {
		if g.Affinity != (cluster.Affinity{}) {
			rules[id] = newSessionRule(g.Affinity, cookie)
		}
	}
	return rules
}

// cutSession takes the session out of the path: it is no part of what the path
// names, and belongs to no context.
func (q *question) cutSession() {
	if strings.IndexByte(q.path, ';') < 0 {
		return
	}
	if value, rest, found := q.sessions.parameter.Cut(q.path); found {
		q.inPath, q.path = value, rest
	}
}

// routes appends to room the names that the request's sessions hold: those of the
// cookies, in order, and then the path's. byCookie says that a cookie held one.
// Nothing is looked for while no node goes by a route.
func (q *question) routes(room []string) (routes []string, byCookie bool) {
	if !q.table.HasRoutes() || q.sessions.cookie == "" {
		return nil, false
	}
	for i := range q.req.Header {
		if f := &q.req.Header[i]; equalFold(f.Name, "cookie") {
			room = q.sessions.appendRoutes(room, f.Value)
		}
	}
	byCookie = len(room) > 0
	return q.sessions.format.AppendRoutes(room, q.inPath), byCookie
}

// appendRoutes appends the names in the cookies of list.
func (r *sessionRule) appendRoutes(dst []string, list string) []string {
	for {
		value, rest, found := affinity.CutCookie(list, r.cookie)
		if !found {
			return dst
		}
		dst, list = r.format.AppendRoutes(dst, value), rest
	}
}

// deadCookie expires the session's cookie, as a server of the context has set it:
// for this host and that path alone. One with a Domain, of another path, or of the
// host that the client is led to is out of reach (RFC 6265 §5.3).
func (q *question) deadCookie() string {
	c := q.sessions.cookie + "=" + cookieScope(q.table.Context(q.origin.service, q.path)) + "; Max-Age=0; HttpOnly"
	if q.secure {
		c += "; Secure"
	}
	return c
}

// Stays reports whether req, having arrived at the node called node, belongs to a
// session that lives there and may go on, by the registry as it is in s at its time
// now: the first of the session's nodes that can take it is this one, and no pause
// covers it, or only such in mode drain before their deadline. It is for whoever
// guards the node itself, and false where the request names no session.
func (r *Redirector) Stays(req *Request, s *cluster.Snapshot, now cluster.Millis, node string) bool {
	n, ok := s.Node(node)
	if !ok {
		return false
	}
	q := question{view: r.view(s, now), req: r.asSent(req), now: now}
	q.understand()
	q.meant(origin{group: n.Group, service: s.Service(n.Group)})
	var room [affinity.MaxRoutes]string
	routes, _ := q.routes(room[:0])
	query := q.query()
	return q.table.Stays(&query, routes, now, node)
}
