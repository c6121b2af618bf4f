package redirect

import (
	"strconv"
	"strings"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

// follow is for whoever sees a redirect because its client did not follow it.
const follow = "Send the same request, method and body included, to the address in the Location field.\n"

// lead answers 307 to node.
func (r *Redirector) lead(q *question, node *cluster.Node) Decision {
	q.hop.count++
	q.hop.mark(selection.MarkOf(node.ID))
	base, route := r.way(q, node)
	var stateRoom [192]byte
	state := appendHop(stateRoom[:0], &q.hop, q.now, route)
	var room [1024]byte
	location := string(appendLocation(room[:0], base, q.req.Path, q.req.Query, r.inQuery(state, route)))
	if len(location) > maxLocation {
		return q.decision(r.problem(q.req, 414, "The address is too long to be redirected.", 0), TooLong, "location over 8 KiB")
	}
	a := Answer{Status: 307, Header: r.leadHeader(q, node, location, state), Body: follow}
	if q.req.Method == "HEAD" {
		a.Body = ""
	}
	return Decision{Answer: a, Outcome: Redirected, Origin: q.origin.label(), Node: node}
}

// way returns the base URL to node, and the route if that leads through the
// request's own host: to the node's group, and so not where node alone will do.
func (r *Redirector) way(q *question, node *cluster.Node) (base, route string) {
	if base, route, ok := r.sameHost(q, node); ok && !q.direct {
		return base, route
	}
	return node.Endpoint, ""
}

// inQuery returns what of the state goes into the query: all of it where that is
// the carrier, or where a listener rule looks there for the route.
func (r *Redirector) inQuery(state []byte, route string) []byte {
	if route == "" && (r.config.Carrier == CookieCarrier || r.config.Carrier == HeaderCarrier) {
		return nil
	}
	return state
}

// leadHeader returns the fields of a 307.
func (r *Redirector) leadHeader(q *question, node *cluster.Node, location string, state []byte) Header {
	h := Header{
		{"Location", location},
		{"Cache-Control", "no-store"},
		{countKey, strconv.Itoa(q.hop.count)},
		{"X-Aspectran-Redirected-From", q.origin.label()},
		{nodesKey, visitedNodes(q.came, node)},
		{epochKey, q.epoch},
		{"Connection", "close"},
		{"Content-Type", "text/plain; charset=utf-8"},
	}
	if r.config.Carrier == CookieCarrier {
		h = append(h, Field{"Set-Cookie", hopCookie(q.req.Path, string(state))})
	}
	if q.dead {
		h = append(h, Field{"Set-Cookie", q.deadCookie()})
	}
	return r.cors(q.req, h)
}

// hopCookie returns the cookie that carries state. A cookie cannot tell a redirect
// that was followed from a request of its own. It therefore lives for no longer
// than a redirect takes, on that path alone; a path with a ';' cannot be written
// into it, and then the path's directory counts (RFC 6265 §5.1.4).
func hopCookie(path, state string) string {
	return Parameter + "=" + state + cookieScope(path) + "; Max-Age=5; HttpOnly"
}

// cookieScope is the attribute that binds a cookie to path, empty where path
// cannot be written into one.
func cookieScope(path string) string {
	if strings.Contains(path, ";") {
		return ""
	}
	return "; Path=" + string(appendEncoded(nil, path, false))
}
