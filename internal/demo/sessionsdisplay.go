package demo

import (
	"fmt"
	"strings"

	"github.com/detourhq/detour/internal/shop"
	"github.com/detourhq/detour/pkg/cluster"
)

// SessionsVerdict returns what r means, in lines for people. c says how the demo was
// run.
func SessionsVerdict(r shop.Result, c SessionsConfig) string {
	var b strings.Builder
	b.WriteString(sessionsHeadline(r, c) + "\n\n")
	fmt.Fprintf(&b, "  sessions    %d lived on the nodes that obeyed a pause: %d lost; %d were still there when their node was stopped\n", r.Sessions, r.SessionsLost, r.Forced)
	fmt.Fprintf(&b, "  newcomers   %d logged in, %d of them at a node that was known to be paused\n", r.Logins, r.NewcomersAtDrained)
	fmt.Fprintf(&b, "  nodes       %d were empty when they were stopped, in %.0f s under load\n", r.Drained, r.DurationS)
	fmt.Fprintf(&b, "  requests    %d: %d ok, %d failed; %d redirected\n", r.Requests, r.OK, r.Failed, r.Redirected)
	fmt.Fprintf(&b, "  latency     p50 %.1f ms, p99 %.1f ms, redirects included\n", r.P50MS, r.P99MS)
	if len(r.Failures) > 0 {
		fmt.Fprintf(&b, "\nThe first %d of %d failures and lost sessions:\n", len(r.Failures), r.Failed+r.SessionsLost)
	}
	for _, f := range r.Failures {
		b.WriteString("  " + f.String() + "\n")
	}
	return b.String()
}

func sessionsHeadline(r shop.Result, c SessionsConfig) string {
	switch {
	case r.Requests == 0:
		return "No request was made."
	case r.NewcomersAtDrained > 0:
		return fmt.Sprintf("%d newcomers were served by a node that was known to be paused.", r.NewcomersAtDrained)
	case r.Failed > 0:
		return fmt.Sprintf("This deployment lost %d of %d requests.", r.Failed, r.Requests)
	case c.Mode == cluster.Redirect:
		return fmt.Sprintf("With mode redirect this deployment lost %d sessions.", r.SessionsLost)
	case r.LostEarly > 0:
		return fmt.Sprintf("This deployment lost %d sessions that should have stayed.", r.LostEarly)
	case r.SessionsLost > 0:
		return fmt.Sprintf("This deployment lost %d sessions, all of them after the deadline of %s.", r.SessionsLost, c.Deadline)
	default:
		return fmt.Sprintf("This deployment lost no session, and none of %d requests.", r.Requests)
	}
}
