package gate

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestWhatCounts(t *testing.T) {
	paused := func(w *world) { w.pause("node:n1", cluster.Pause{}) }
	for _, c := range []struct {
		name     string
		do       func(*world)
		target   string
		header   []string
		arrivals int64
	}{
		{"a request", func(*world) {}, "/", nil, 1},
		{"one that is led away", paused, "/", nil, 1},
		{"no health check", func(*world) {}, "/_health", nil, 0},
		{"nor one at the configured path", paused, "/well", nil, 0},
		{"nor a load balancer's own, wherever", func(*world) {}, "/", []string{"User-Agent", "ELB-HealthChecker/2.0"}, 0},
		{"but a client that claims to be one", func(*world) {}, "/", []string{"User-Agent", "ELB-HealthChecker/2.0", "X-Forwarded-For", "192.0.2.7"}, 1},
		{"no probe", paused, "/probe", nil, 0},
		{"nor a look at the cluster", func(*world) {}, "/_detour/cluster", nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "n1", "n2")
			c.do(w)
			now := time.UnixMilli(time.Now().UnixMilli())
			g, h := w.guarded(func(g *Config) {
				g.HealthPath, g.ProbePath, g.Now = "/well", "/probe", func() time.Time { return now }
			})
			ask(h, "GET", c.target, c.header...)
			f := g.Figures()
			assert.Equal(t, c.arrivals, f.Arrivals)
			assert.Zero(t, f.InFlight)
			if c.arrivals > 0 {
				// Stamps are cut to milliseconds, each on its own.
				assert.InDelta(t, now.Add(ahead).UnixMilli(), int64(f.LastArrival), 2, "by the registry's clock")
			}
		})
	}
}

func TestEachRequestIsCountedOutOnce(t *testing.T) {
	g, _ := newWorld(t, "n1").guarded()
	inside := func(w http.ResponseWriter) {
		assert.EqualValues(t, 1, g.Figures().InFlight)
		_, _ = io.WriteString(w, "x")
	}
	for name, handler := range map[string]http.HandlerFunc{
		"after an answer": func(w http.ResponseWriter, _ *http.Request) { inside(w) },
		"after a panic": func(w http.ResponseWriter, _ *http.Request) {
			inside(w)
			panic(http.ErrAbortHandler)
		},
		"after a flush": func(w http.ResponseWriter, _ *http.Request) {
			inside(w)
			w.(http.Flusher).Flush()
			assert.NoError(t, http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)))
		},
		"after a hijack": func(w http.ResponseWriter, _ *http.Request) {
			conn, rest, err := w.(http.Hijacker).Hijack()
			require.NoError(t, err)
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n\r\n")
			_, _ = rest.ReadString('\n')
			assert.EqualValues(t, 1, g.Figures().InFlight)
			_ = conn.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(g.Wrap(handler))
			defer server.Close()
			conn, err := net.Dial("tcp", server.Listener.Addr().String()) //nolint:noctx // loopback, and closed in the end
			require.NoError(t, err)
			defer func() { _ = conn.Close() }()
			_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\nbye\n")
			_, _ = io.ReadAll(conn)
			require.Eventually(t, func() bool { return g.Figures().InFlight == 0 }, 10*time.Second, time.Millisecond)
		})
	}
	assert.EqualValues(t, 4, g.Figures().Arrivals)
}

// Whoever sees that a pause is obeyed sees in flight what was let in before it, and
// nothing is let in after it (postgresml/pgcat#917).
func TestThePauseAndARequestMeet(t *testing.T) {
	w := newWorld(t, "n1", "n2")
	g, _ := w.guarded()
	open := g.state.Load() // what two requests have just looked at
	require.True(t, g.enter(open))
	w.pause("node:n1", cluster.Pause{})
	require.NoError(t, g.Look(t.Context()))
	f := g.Figures()
	assert.EqualValues(t, 2, f.SeenEpoch)
	assert.EqualValues(t, 1, f.InFlight)
	assert.False(t, g.enter(open), "the second one is late")
	g.counter.Leave()
	assert.Zero(t, g.Figures().InFlight)
}

func TestCountsHoldWhilePausesComeAndGo(t *testing.T) {
	w := newWorld(t, "n1", "n2")
	g, h := w.guarded()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 500 {
				assert.Contains(t, []int{200, 307}, ask(h, "GET", "/").Code)
				assert.GreaterOrEqual(t, g.Figures().InFlight, int64(0))
			}
		})
	}
	for range 50 {
		w.pause("node:n1", cluster.Pause{})
		assert.NoError(t, g.Look(t.Context()))
		w.resume("node:n1")
		assert.NoError(t, g.Look(t.Context()))
	}
	all.Wait()
	assert.Zero(t, g.Figures().InFlight)
	assert.EqualValues(t, 4*500, g.Figures().Arrivals)
}

func TestTwoMayLookAtOnce(t *testing.T) {
	w := newWorld(t, "n1", "n2")
	g, _ := w.guarded()
	var looks sync.WaitGroup
	for range 4 {
		looks.Go(func() {
			for range 200 {
				w.pause("node:n1", cluster.Pause{})
				assert.NoError(t, g.Look(t.Context()))
			}
		})
	}
	looks.Wait()
	assert.EqualValues(t, 801, g.Figures().SeenEpoch, "nobody's older look takes the place of a newer one")
}

func TestTheHandlerThatBeganIsNotRedirected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "n1", "n2")
		g, _ := w.running()
		h := g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(3 * time.Second)
			_, _ = io.Copy(w, r.Body)
		}))
		answer := make(chan *httptest.ResponseRecorder, 1)
		go func() {
			a := httptest.NewRecorder()
			h.ServeHTTP(a, send("POST", "/", strings.NewReader("whole")))
			answer <- a
		}()
		pass(time.Second)
		w.pause("node:n1", cluster.Pause{Mode: cluster.Stop})
		pass(time.Second)
		f := g.Figures()
		assert.EqualValues(t, 1, f.InFlight)
		assert.EqualValues(t, 2, f.SeenEpoch)
		a := <-answer
		assert.Equal(t, 200, a.Code)
		assert.Equal(t, "whole", a.Body.String())
		assert.Zero(t, g.Figures().InFlight)
	})
}

// The gate leaves the body to whoever answers.
func TestTheBodyIsNotReadBeforeTheDecision(t *testing.T) {
	for name, size := range map[string]int{
		"one that a proxy could not send twice (caddyserver/caddy#5454)":             100_000,
		"one too large for a proxy to keep, or for a function (superfly/litefs#433)": 1_500_000,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "n1", "n2")
			w.pause("node:n1", cluster.Pause{})
			_, h := w.guarded()
			body := strings.NewReader(strings.Repeat("x", size))
			a := httptest.NewRecorder()
			h.ServeHTTP(a, send("POST", "/", body))
			assert.Equal(t, 307, a.Code)
			assert.Equal(t, size, body.Len())
			assert.Contains(t, a.Body.String(), "method and body included", "for clients that do not follow (golang/go#73439)")
			assert.Empty(t, a.Header().Get("Retry-After"))
		})
	}
}
