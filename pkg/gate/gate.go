package gate

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// Gate is middleware that guards one node. While nothing covers the node each
// request costs a few counters, and no allocation.
//
// While a pause covers the node, or the context that a request is for, the gate
// answers by itself: 307 to another node as [redirect.Redirector] picks it. What it
// never does is to redirect a request that the application has begun with.
//
//   - Where no other node is offered, or the request cannot be redirected, modes
//     redirect and drain let it in: they want the traffic elsewhere, and as long
//     as this process lives it can answer. Modes hold and stop want it closed, so
//     it gets 503 with Retry-After.
//   - Mode hold lets requests wait first, bounded in time and number, and so does a
//     node that reports starting; that ends in 503.
//   - Mode drain lets in the sessions of the node itself.
//   - A WebSocket handshake gets 503 in place of a redirect, which no browser
//     follows (WHATWG WebSockets Standard, "establish a WebSocket connection").
type Gate struct {
	config   Config
	counter  *Counter
	sessions *sessions // nil where the application counts them
	room     room
	looking  sync.Mutex            // held by whoever takes a state's place: the older must not follow the newer
	state    atomic.Pointer[state] // what the gate acts on
}

// New returns a gate that lets in everything until [Gate.Run] or [Gate.Look] has
// read the registry.
func New(c Config) *Gate {
	g := &Gate{config: c.withDefaults()}
	g.counter = NewCounter(g.config.Now())
	if c.Sessions == nil {
		g.sessions = newSessions(g.config.SessionIdle)
	}
	g.room = room{most: g.config.MaxHeld, each: g.config.HeldPerSource}
	first := newState(nil, g.config.Node, 0)
	first.complete(first, &g.config)
	g.state.Store(first)
	return g
}

// Wrap returns a handler that passes on to next what the gate lets in, with the
// ResponseWriter as it is and without the hop parameter in the URL. A request is
// in flight until next returns, a hijacked one too.
func (g *Gate) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.serveOwn(w, r, next) {
			return
		}
		now := g.config.Now()
		g.counter.Arrive(now)
		if st := g.state.Load(); st.open && g.enter(st) {
			g.let(w, r, next, st, now)
			return
		}
		g.guard(w, r, next)
	})
}

// serveOwn answers what is no traffic: health checks, probes, and the table of the
// cluster.
func (g *Gate) serveOwn(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
	switch path := r.URL.Path; {
	case path == g.config.ProbePath && path != "":
		next.ServeHTTP(w, r)
	case path == defaultHealthPath || path == g.config.HealthPath:
		g.health(w, r, g.config.Health)
	case isHealthCheck(r):
		g.health(w, r, next)
	case path == clusterPath && !g.config.HideCluster:
		g.serveCluster(w, r)
	default:
		return false
	}
	return true
}

// enter counts a request in that st lets in, unless another state has taken its
// place: whoever sees that the gate acts on that, sees the request in flight.
func (g *Gate) enter(st *state) bool {
	g.counter.Enter()
	if g.state.Load() == st {
		return true
	}
	g.counter.Leave()
	return false
}

// let passes a request on that was counted in.
func (g *Gate) let(w http.ResponseWriter, r *http.Request, next http.Handler, st *state, now time.Time) {
	defer g.counter.Leave()
	if g.sessions != nil {
		if session := st.sessionOf(r); session != "" {
			g.sessions.see(session, now)
		}
	}
	st.stamp(w)
	next.ServeHTTP(w, withoutHop(r))
}

// stamp puts the epoch that the gate acts on into the answer, so that clients
// learn of a change by what they ask anyway.
func (st *state) stamp(w http.ResponseWriter) {
	if st.epoch != nil {
		w.Header()[epochKey] = st.epoch
	}
}

// Figures returns the node's numbers. LastArrival is of the registry's clock once
// that is known, and SeenEpoch the newest epoch that the gate acts on.
func (g *Gate) Figures() cluster.Figures {
	st, now := g.state.Load(), g.config.Now() // before the counters: see enter
	f := g.counter.Figures(now)
	f.LastArrival = st.onRegistry(f.LastArrival)
	if st.snapshot != nil {
		f.SeenEpoch = st.snapshot.Epoch
	}
	if g.config.Load != nil {
		f.Load = g.config.Load()
	}
	if g.sessions == nil {
		f.Sessions = g.config.Sessions()
	} else {
		f.Sessions = g.sessions.count(now)
	}
	return f
}

// global draws from the process's own generator.
type global struct{}

func (global) Uint64() uint64 { return rand.Uint64() }
