package redirect

import (
	"slices"
	"strings"

	"github.com/detourhq/detour/pkg/cluster"
)

// asSent returns req with the path and query that the client sent.
func (r *Redirector) asSent(req *Request) *Request {
	path, query := req.Path, req.Query
	if r.config.TrustForwardedPath {
		if v := req.Header.Get("X-Forwarded-Path"); strings.HasPrefix(v, "/") && !hasControl(v) {
			forwarded, rest, ok := strings.Cut(v, "?")
			if path = forwarded; ok {
				query = rest
			}
		}
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // or it would go on with the endpoint's authority
	}
	if path == req.Path && query == req.Query {
		return req
	}
	sent := *req
	sent.Path, sent.Query = path, query
	return &sent
}

// sameHost returns the base URL of the request's own authority, and the route,
// if node can be reached through it: its group has a route there, and the
// authority is one of the allowed. A node of the origin's own group cannot: the
// route leads to the group, and maybe back to the node that is to be avoided.
// Nor does a route serve that led back here already.
func (r *Redirector) sameHost(q *question, node *cluster.Node) (base, route string, ok bool) {
	if len(r.config.AllowedHosts) == 0 || node.Group == q.origin.group {
		return "", "", false
	}
	route = q.snapshot.Groups[node.Group].Route
	if !isRoute(route) || route == q.hop.route {
		return "", "", false
	}
	i := slices.IndexFunc(r.config.AllowedHosts, func(allowed string) bool { return equalFold(allowed, q.host) })
	if i < 0 {
		return "", "", false
	}
	scheme := "https://"
	if q.plain {
		scheme = "http://"
	}
	return scheme + r.config.AllowedHosts[i], route, true
}

// visitedNodes is the list of nodes for X-Aspectran-Visited-Nodes: the list before,
// as far as it is ids and not too long, and node.
func visitedNodes(before string, node *cluster.Node) string {
	if before == "" || len(before) > 1024 {
		return node.ID
	}
	var ids []string
	for id := range strings.SplitSeq(before, ",") {
		if id = strings.TrimSpace(id); cluster.CheckID(id) == nil {
			ids = append(ids, id)
		}
	}
	return strings.Join(append(ids, node.ID), ",")
}
