package gate

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/redirect"
)

// later is a registry time that no test reaches.
func later(d time.Duration) cluster.Millis {
	return cluster.Millis(time.Now().Add(ahead + d).UnixMilli())
}

func TestWhoIsLetIn(t *testing.T) {
	const page = "http://app.example.com/shop/cart?q=a%2Bb"
	session := []string{"Cookie", "JSESSIONID=0123.route-n1"}
	for _, c := range []struct {
		name   string
		do     func(*world)
		method string
		header []string
		want   int
	}{
		{"all while nothing covers the node", func(*world) {}, "GET", nil, 200},
		{"nobody while a pause covers it", func(w *world) { w.pause("node:n1", cluster.Pause{}) }, "POST", nil, 307},
		{"nor while one covers its group, and somebody is left", func(w *world) {
			w.change(func(s *cluster.Snapshot) { s.Nodes[1].Group = "green" })
			w.pause("group:blue", cluster.Pause{Mode: cluster.Redirect})
		}, "GET", nil, 307},
		{"nor while it says so of itself", func(w *world) { w.report(cluster.Paused) }, "GET", nil, 307},
		{"all while another node is paused", func(w *world) { w.pause("node:n2", cluster.Pause{}) }, "GET", nil, 200},
		{"all while it is overloaded", func(w *world) { w.report(cluster.Overloaded) }, "GET", nil, 200},
		{"all once the pause is over (hashicorp/consul#345)", func(w *world) {
			w.pause("node:n1", cluster.Pause{Until: later(-time.Second)})
		}, "GET", nil, 200},
		{"nobody of a context that is paused", func(w *world) { w.pause("context:n1/shop", cluster.Pause{}) }, "GET", nil, 307},
		{"all of a context beside", func(w *world) { w.pause("context:n1/", cluster.Pause{}) }, "GET", nil, 200},
		{"a session of the node in drain (envoyproxy/envoy#7218)", func(w *world) {
			w.pause("node:n1", cluster.Pause{Mode: cluster.Drain})
		}, "GET", session, 200},
		{"but no other one", func(w *world) { w.pause("node:n1", cluster.Pause{Mode: cluster.Drain}) }, "GET", []string{"Cookie", "JSESSIONID=0123.route-n2"}, 307},
		{"and not past the deadline (ansible/ansible#37591)", func(w *world) {
			w.pause("node:n1", cluster.Pause{Mode: cluster.Drain, Deadline: later(-time.Second)})
		}, "GET", session, 307},
		{"nor in a redirect", func(w *world) { w.pause("node:n1", cluster.Pause{}) }, "GET", session, 307},
		{"nor while the node says that it is paused itself", func(w *world) {
			w.report(cluster.Paused)
			w.pause("node:n1", cluster.Pause{Mode: cluster.Drain})
		}, "GET", session, 307},
		{"nor while it starts", func(w *world) { w.report(cluster.Starting) }, "GET", session, 503},
		{"a tester with a pass", func(w *world) { w.pause("node:n1", cluster.Pause{Mode: cluster.Stop}) }, "GET", []string{"Cookie", "detour-pass=" + redirect.SignPass(passKey, "n1", later(time.Minute))}, 200},
		{"not with one that has ended", func(w *world) { w.pause("node:n1", cluster.Pause{Mode: cluster.Stop}) }, "GET", []string{"Cookie", "detour-pass=" + redirect.SignPass(passKey, "n1", later(-time.Minute))}, 307},
		{"a WebSocket is not redirected", func(w *world) { w.pause("node:n1", cluster.Pause{}) }, "GET", []string{"Connection", "keep-alive, Upgrade", "Upgrade", "websocket"}, 503},
		{"another upgrade is", func(w *world) { w.pause("node:n1", cluster.Pause{}) }, "GET", []string{"Connection", "Upgrade", "Upgrade", "h2c"}, 307},
		{"a preflight is answered (whatwg/fetch#204, ashleysommer/sanic-cors#39)", func(w *world) { w.pause("node:n1", cluster.Pause{}) }, "OPTIONS", []string{"Origin", "https://example.com", "Access-Control-Request-Method", "PUT"}, 204},
		{"all where nobody else is left", func(w *world) { w.pause("all", cluster.Pause{}) }, "GET", nil, 200},
		{"in drain too", func(w *world) { w.pause("all", cluster.Pause{Mode: cluster.Drain}) }, "GET", nil, 200},
		{"but nobody in stop", func(w *world) { w.pause("all", cluster.Pause{Mode: cluster.Stop}) }, "GET", nil, 503},
		{"nor a WebSocket", func(w *world) { w.pause("all", cluster.Pause{Mode: cluster.Stop}) }, "GET", []string{"Connection", "Upgrade", "Upgrade", "websocket"}, 503},
		{"who was led in circles is let in", func(w *world) { w.pause("node:n1", cluster.Pause{}) }, "GET", []string{"X-Aspectran-Redirect-Count", "3"}, 200},
		{"but not in stop", func(w *world) { w.pause("node:n1", cluster.Pause{Mode: cluster.Stop}) }, "GET", []string{"X-Aspectran-Redirect-Count", "3"}, 503},
		{"all where the registry does not know the node", func(w *world) {
			w.pause("all", cluster.Pause{})
			w.change(func(s *cluster.Snapshot) { s.Nodes = s.Nodes[1:] })
		}, "GET", nil, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "n1", "n2")
			c.do(w)
			_, h := w.guarded(func(c *Config) { c.StartHold = time.Millisecond })
			a := ask(h, c.method, page, c.header...)
			assert.Equal(t, c.want, a.Code)
			assert.NotEmpty(t, a.Header()["X-Detour-Epoch"])
			assert.Equal(t, c.want == 200, a.Header().Get("X-Saw") != "", "200 comes from the application, and nothing else does")
			switch c.want {
			case 307:
				assert.True(t, strings.HasPrefix(a.Header().Get("Location"), "https://n2.example.com/shop/cart?q=a%2Bb&detour=1."), a.Header().Get("Location"))
				assert.Equal(t, "n1", a.Header().Get("X-Aspectran-Redirected-From"))
				assert.Equal(t, "close", a.Header().Get("Connection"), "a client of a paused node comes back by a new connection")
				assert.Len(t, a.Header()["X-Detour-Epoch"], 1)
			case 503:
				assert.NotEmpty(t, a.Header().Get("Retry-After"))
			}
		})
	}
}

func TestWithoutASnapshotAllAreLetIn(t *testing.T) {
	w := newWorld(t, "n1", "n2")
	w.pause("node:n1", cluster.Pause{})
	g := New(Config{Node: "n1", Source: w})
	h := g.Wrap(http.NotFoundHandler())
	a := ask(h, "GET", "http://app.example.com/")
	assert.Equal(t, 404, a.Code)
	assert.Empty(t, a.Header()["X-Detour-Epoch"])
	assert.Equal(t, 503, ask(h, "GET", "http://app.example.com/_detour/cluster").Code)
	assert.Equal(t, 200, ask(h, "GET", "http://app.example.com/_health").Code)
}

func TestAPauseOutlastsTheRegistry(t *testing.T) {
	w := newWorld(t, "n1", "n2")
	w.pause("node:n1", cluster.Pause{Until: later(time.Hour)})
	now := time.Now()
	g, h := w.guarded(func(c *Config) { c.Now = func() time.Time { return now } })
	lost := errors.New("refused")
	w.fail(lost)
	require.ErrorIs(t, g.Look(t.Context()), lost)
	assert.Equal(t, 307, ask(h, "GET", "http://app.example.com/").Code)

	w.fallBack()
	require.ErrorIs(t, g.Look(t.Context()), lost)
	assert.Equal(t, 307, ask(h, "GET", "http://app.example.com/").Code, "a static list lifts no pause")

	now = now.Add(59 * time.Minute)
	require.ErrorIs(t, g.Look(t.Context()), lost)
	assert.Equal(t, 307, ask(h, "GET", "http://app.example.com/").Code)
	now = now.Add(2 * time.Minute)
	require.ErrorIs(t, g.Look(t.Context()), lost)
	assert.Equal(t, 200, ask(h, "GET", "http://app.example.com/").Code, "its end comes all the same")
}

func TestANodeThatMovedIsRedirectedWithinItsNewGroup(t *testing.T) {
	w := newWorld(t, "n1", "n2", "n3")
	w.change(func(s *cluster.Snapshot) { s.Nodes[2].Group = "green" })
	w.pause("node:n1", cluster.Pause{})
	g, h := w.guarded()
	to := func() string { return ask(h, "GET", "http://app.example.com/").Header().Get("Location")[:10] }
	for range 10 {
		assert.Equal(t, "https://n2", to())
	}
	w.change(func(s *cluster.Snapshot) { s.Nodes[0].Group = "green" })
	require.NoError(t, g.Look(t.Context()))
	for range 10 {
		assert.Equal(t, "https://n3", to())
	}
}

func TestTheApplicationDoesNotSeeTheHopState(t *testing.T) {
	_, h := newWorld(t, "n1").guarded()
	for target, want := range map[string]string{
		"/a%2Fb?x=1&detour=1.abc.zz&y=%20&y=+":            "/a%2Fb?x=1&y=%20&y=+",
		"/?detour=2.0~green":                              "/",
		"/?detour=on&x&&detour=1.k3":                      "/?detour=on&x&",
		"/?detour=100.k3":                                 "/?detour=100.k3",
		"/?x=detour%3D1.k3&xdetour=1.k3":                  "/?x=detour%3D1.k3&xdetour=1.k3",
		"/plain":                                          "/plain",
		"/?detour=1.01":                                   "/?detour=1.01",
		"/?detour=1.k3.a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p":   "/",
		"/?detour=1.k3.a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q": "/?detour=1.k3.a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q",
	} {
		assert.Equal(t, want, ask(h, "GET", target).Header().Get("X-Saw"))
	}
}

func TestAnOpenGateAllocatesNothing(t *testing.T) {
	g, _ := newWorld(t, "n1").guarded()
	h := g.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := send("GET", "/shop?a=b", nil)
	r.Header.Set("Cookie", "theme=dark; JSESSIONID=0123.route-n1")
	r.Header.Set("User-Agent", "Mozilla/5.0")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	assert.Zero(t, testing.AllocsPerRun(100, func() { h.ServeHTTP(w, r) }))
}
