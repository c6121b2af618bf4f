package gate

import (
	"io"
	"net/http"
	"strings"

	"github.com/detourhq/detour/pkg/cluster"
)

// isHealthCheck reports whether r is a load balancer's own: it names itself, and
// was not passed on for a client (AWS, "Health checks for Application Load Balancer
// target groups").
func isHealthCheck(r *http.Request) bool {
	agent := r.Header["User-Agent"]
	return len(agent) > 0 && strings.HasPrefix(agent[0], "ELB-HealthChecker/") && len(r.Header["X-Forwarded-For"]) == 0
}

// health answers a load balancer: 503 from the moment of the node's pause, and
// while it starts, so that it is taken out; and else as well does. nil means 200.
// A node in drain is well until its last session has ended: a load balancer with
// stickiness binds the sessions of a target that it takes out to other targets
// (AWS, "Sticky sessions for your Application Load Balancer").
func (g *Gate) health(w http.ResponseWriter, r *http.Request, well http.Handler) {
	st := g.state.Load()
	st.stamp(w)
	status, body := http.StatusOK, `{"status":"ok"}`
	switch {
	case st.whole.mode != "" && (st.whole.mode != cluster.Drain || g.Figures().Sessions == 0):
		status, body = http.StatusServiceUnavailable, `{"status":"paused"}`
	case st.whole.starting:
		status, body = http.StatusServiceUnavailable, `{"status":"starting"}`
	case well != nil:
		well.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = io.WriteString(w, body)
	}
}
