package redirect

import (
	"sync/atomic"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

// Redirector makes decisions. It is safe for concurrent use.
type Redirector struct {
	config Config
	random selection.Source
	last   atomic.Pointer[view]
}

// New returns a redirector that draws from random, which must be safe for
// concurrent use if the redirector is used so.
func New(c Config, random selection.Source) *Redirector {
	c.MaxRedirects = min(c.MaxRedirects, maxHops)
	return &Redirector{config: c, random: random}
}

// Early answers what needs no registry: health checks, CORS preflights, and
// requests that nobody could redirect. ok is false for all others. The answer tells
// the epoch of the newest snapshot that was decided with, if there was one.
func (r *Redirector) Early(req *Request) (d Decision, ok bool) {
	d, ok = r.early(req)
	if v := r.last.Load(); ok && v != nil {
		d.Header = append(d.Header, Field{epochKey, v.epoch})
	}
	return d, ok
}

func (r *Redirector) early(req *Request) (d Decision, ok bool) {
	switch {
	case isHealthCheck(req):
		if isDeep(req) {
			return Decision{}, false
		}
		return health(req, 200, `{"status":"ok"}`), true
	case isPreflight(req):
		return Decision{Answer: r.preflight(req), Outcome: Preflight}, true
	case req.Method == "TRACE" || req.Method == "CONNECT":
		a := r.problem(req, 405, "This method cannot be redirected.", 0)
		a.Header = append(a.Header, Field{"Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"})
		return Decision{Answer: a, Outcome: Refused, Reason: "method " + req.Method}, true
	case isMalformed(req):
		a := r.problem(req, 400, "The request target is not a path and query that a URL can hold.", 0)
		return Decision{Answer: a, Outcome: Refused, Reason: "malformed target"}, true
	}
	return Decision{}, false
}

// isMalformed reports whether the target is no path, like that of OPTIONS *, or
// holds what no proxy lets through: a control character.
func isMalformed(req *Request) bool {
	return req.Path != "" && req.Path[0] != '/' || hasControl(req.Path) || hasControl(req.Query)
}

// Decide answers req, which Early left open, by the registry as it is in s, at
// the registry's time now.
func (r *Redirector) Decide(req *Request, s *cluster.Snapshot, now cluster.Millis) Decision {
	v := r.view(s, now)
	if isHealthCheck(req) {
		return v.deepHealth(req, now)
	}
	q := question{view: v, req: r.asSent(req), now: now}
	known := q.understand()
	switch {
	case q.hop.count >= r.config.MaxRedirects:
		return r.unavailable(&q, Looped, "Every redirect led back here. Please try again later.")
	case !known:
		return r.unavailable(&q, Unavailable,
			"This address belongs to several services: set DETOUR_ORIGINS, or the groups' hosts or paths.")
	}
	if node := r.passed(&q); node != nil {
		q.direct = true
		return r.lead(&q, node)
	}
	return r.place(&q)
}
