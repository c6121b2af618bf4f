package gate

import (
	"io"
	"net/http"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/redirect"
)

// verdict says what becomes of a request: it is let in, it waits, or it is answered
// by the gate.
type verdict struct {
	state    *state
	in       bool
	wait     bool // for as long as patience; the answer is for when that ends
	patience time.Duration
	answer   redirect.Answer
}

// guard decides on a request that was not let in at once.
func (g *Gate) guard(w http.ResponseWriter, r *http.Request, next http.Handler) {
	req := request(r)
	for {
		v := g.await(r.Context(), req)
		switch {
		case !v.in:
			g.turnAway(w, r, v)
			return
		case g.enter(v.state):
			g.let(w, r, next, v.state, g.config.Now())
			return
		}
	}
}

// turnAway writes the gate's own answer.
func (g *Gate) turnAway(w http.ResponseWriter, r *http.Request, v verdict) {
	if g.sessions != nil && v.answer.Status == http.StatusTemporaryRedirect {
		if session := v.state.sessionOf(r); session != "" {
			g.sessions.forget(session) // it lives on elsewhere
		}
	}
	header := w.Header()
	for _, f := range v.answer.Header {
		header.Add(f.Name, f.Value)
	}
	v.state.stamp(w)
	w.WriteHeader(v.answer.Status)
	_, _ = io.WriteString(w, v.answer.Body) // a client that went needs none
}

// judge decides on req by what the gate acts on now.
func (g *Gate) judge(req *redirect.Request) verdict {
	st := g.state.Load()
	now := st.now(g.config.Now())
	_, path, _ := st.parameter.Cut(req.Path) // a session belongs to no context
	r := st.rule(path)
	switch {
	case r.open(), st.redirector.Admits(req, now, g.config.Node), st.redirector.Stays(req, st.snapshot, now, g.config.Node):
		return verdict{state: st, in: true}
	case r.mode == "":
		a := st.redirector.Lost(req, "starting").Answer
		return verdict{state: st, wait: true, patience: g.config.StartHold, answer: a}
	}
	return g.detour(st, req, r.mode, now)
}

// detour decides on req under a pause of this mode, see [Gate].
func (g *Gate) detour(st *state, req *redirect.Request, mode cluster.Mode, now cluster.Millis) verdict {
	socket := isWebSocket(req)
	d, early := st.redirector.Early(req)
	if !early || socket {
		d = st.redirector.Decide(req, st.snapshot, now)
	}
	closed := mode == cluster.Hold || mode == cluster.Stop
	v := verdict{state: st, answer: d.Answer, wait: mode == cluster.Hold, patience: g.config.HoldMax}
	switch d.Outcome {
	case redirect.Preflight:
		v.wait = false
	case redirect.Redirected:
		if socket {
			v.answer = st.redirector.Lost(req, "websocket").Answer
		}
	default:
		v.in = !closed
	}
	return v
}

// isWebSocket reports whether req asks for a WebSocket (RFC 6455 §4.1, RFC 8441 §4).
func isWebSocket(req *redirect.Request) bool {
	return httpguts.HeaderValuesContainsToken([]string{req.Header.Get("Upgrade")}, "websocket") ||
		req.Method == http.MethodConnect && req.Header.Get(":protocol") == "websocket"
}
