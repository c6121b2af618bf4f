package redirect

import (
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// retryMost bounds what a pause makes of Retry-After: one of an hour may be
// resumed any minute.
const retryMost = time.Minute

// unavailable answers 503 with the time at which it is worth coming back.
func (r *Redirector) unavailable(q *question, o Outcome, detail string) Decision {
	return q.decision(r.problem(q.req, 503, detail, r.retryAfter(q)), o, detail)
}

// Lost answers 503 when there is no registry, and no decision can be made.
func (r *Redirector) Lost(req *Request, reason string) Decision {
	if isHealthCheck(req) {
		return health(req, 503, `{"status":"registry lost"}`)
	}
	a := r.problem(req, 503, "The service is temporarily unavailable. Please try again in a moment.", r.retryDefault())
	return Decision{Answer: a, Outcome: Unavailable, Reason: reason}
}

func (r *Redirector) retryDefault() time.Duration { return max(r.config.RetryAfter, time.Second) }

// retryAfter is the time until the first end of a pause that covers a node of
// the service, at most a minute, and the configured time if none ends by itself.
func (r *Redirector) retryAfter(q *question) time.Duration {
	var first cluster.Millis
	for t, p := range q.snapshot.Pauses {
		if p.Until > q.now && (first == 0 || p.Until < first) && concerns(q.snapshot, t, q.origin.service) {
			first = p.Until
		}
	}
	if first == 0 {
		return r.retryDefault()
	}
	return min(first.Sub(q.now), retryMost)
}

func concerns(s *cluster.Snapshot, t cluster.Target, service string) bool {
	switch t.Kind {
	case cluster.AllKind:
		return true
	case cluster.GroupKind:
		return s.Service(t.ID) == service
	}
	n, ok := s.Node(t.ID)
	return ok && s.Service(n.Group) == service
}
