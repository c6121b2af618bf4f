package redirect

import "github.com/detourhq/detour/pkg/cluster"

// Outcome says in one word what became of a request, for logs and statistics.
type Outcome string

// The outcomes.
const (
	Redirected  Outcome = "redirected"
	Unavailable Outcome = "unavailable" // nobody to offer, for overload too (Reason says it), or no registry
	Looped      Outcome = "looped"      // at the limit of redirects
	NoContext   Outcome = "no-context"  // no node serves the path
	TooLong     Outcome = "too-long"    // the Location would be
	Refused     Outcome = "refused"     // not a request that can be redirected
	Preflight   Outcome = "preflight"
	Health      Outcome = "health"
)

// Decision is an answer and what led to it.
type Decision struct {
	Answer
	Outcome Outcome
	Origin  string        // label of what the request was meant for; empty where that was not asked
	Node    *cluster.Node // where the client is led; nil unless redirected
	Reason  string        // for people; empty when redirected

	// Hold says that the answer is for when patience ends: until then the registry
	// may change for the better, because the origin is on hold, or nobody is offered.
	Hold bool
}
