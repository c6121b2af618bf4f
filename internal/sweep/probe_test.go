package sweep

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// nodeServer answers like nodes of all sorts, by path.
func nodeServer(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	for path, status := range map[string]int{"/200": 200, "/204": 204, "/299": 299, "/300": 300, "/404": 404, "/500": 500, "/503": 503} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	}
	mux.Handle("/302", http.RedirectHandler("/200", http.StatusFound))
	mux.HandleFunc("/get", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.Header.Get("User-Agent") != "detour-probe" {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	mux.HandleFunc("/hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		for chunk := make([]byte, 1<<20); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/header", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 1<<20)) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// closed returns the address of a port that nobody listens on.
func closed(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // listens and closes at once
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func TestWhatCountsAsAlive(t *testing.T) {
	nodes := nodeServer(t)
	for _, c := range []struct {
		name, probe string
		alive       bool
	}{
		{"200", nodes.URL + "/200", true},
		{"204", nodes.URL + "/204", true},
		{"299, the last of them", nodes.URL + "/299", true},
		{"300, the first beyond", nodes.URL + "/300", false},
		{"a redirect to one that is well", nodes.URL + "/302", false},
		{"404", nodes.URL + "/404", false},
		{"500", nodes.URL + "/500", false},
		{"503", nodes.URL + "/503", false},
		{"GET is what is asked", nodes.URL + "/get", true},
		{"a body without end, of which nothing is read", nodes.URL + "/endless", true},
		{"a header without end", nodes.URL + "/header", false},
		{"no answer for two seconds", nodes.URL + "/hangs", false},
		{"nobody listens", "http://" + closed(t), false},
		{"a name that cannot be resolved", "http://" + strings.Repeat("x", 64) + ".example.com/", false},
		{"another protocol", "ftp://127.0.0.1/", false},
		{"a file", "file:///etc/hostname", false},
		{"no URL", "http://%zz", false},
		{"no probe", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.register("well")
			w.registerAs(cluster.Descriptor{ID: "asked", Probe: c.probe})
			w.heard("asked", time.Hour)
			began := time.Now()
			r := w.sweep(usual)
			assert.Less(t, time.Since(began), probeTimeout+3*time.Second)
			if !c.alive {
				assert.Equal(t, []string{"asked"}, r.PrunedIDs)
				assert.Empty(t, r.Returned)
				return
			}
			assert.Equal(t, []string{"asked"}, r.Returned)
			assert.Zero(t, r.Stale)
			assert.Zero(t, r.Pruned)
			assert.Equal(t, w.now(), w.snapshot().Nodes[0].Pulse, "an answer is a pulse")
		})
	}
}

func TestOnlyStaleNodesAreAskedAndNobodyWhenProbesAreOff(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	w := newWorld(t)
	w.registerAs(cluster.Descriptor{ID: "a", Probe: server.URL})
	w.registerAs(cluster.Descriptor{ID: "b", Probe: server.URL})
	w.heard("a", timeout)
	w.sweep(usual)
	assert.Zero(t, asked.Load(), "nobody is stale")
	w.heard("a", time.Hour)
	off := usual
	off.Probe = false
	assert.Equal(t, []string{"a"}, w.sweep(off).PrunedIDs)
	assert.Zero(t, asked.Load(), "probes are off")
	w.heard("b", time.Hour)
	r := w.sweep(usual)
	assert.False(t, r.AllStale, "b answered")
	assert.Equal(t, int32(1), asked.Load())
}

func TestAFewAreAskedAtOnce(t *testing.T) {
	var at, most atomic.Int32
	full := make(chan struct{}) // closed when as many as may ask are asking
	fill := sync.OnceFunc(func() { close(full) })
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n := at.Add(1)
		defer at.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if n == probesAtOnce {
			fill()
		}
		select {
		case <-full:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	w := newWorld(t)
	for i := range 2*probesAtOnce - 1 {
		id := fmt.Sprintf("n%02d", i)
		w.registerAs(cluster.Descriptor{ID: id, Probe: server.URL})
		w.heard(id, time.Hour)
	}
	assert.Len(t, w.sweep(usual).Returned, 2*probesAtOnce-1)
	assert.Equal(t, int32(probesAtOnce), most.Load())
}

// Who could not be asked in half the time that a sweep has is no proof of
// anything, and the sweep goes on without.
func TestWhoCouldNotBeAskedStays(t *testing.T) {
	const short, long = time.Second, time.Minute
	for name, c := range map[string]struct{ lease, deadline time.Duration }{
		"a short lease":    {short, long},
		"a short deadline": {long, short},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := nodeServer(t)
			w := newWorld(t)
			w.register("well", "mute")
			w.heard("mute", 2*time.Hour)
			for i := range 3 * probesAtOnce {
				id := fmt.Sprintf("n%02d", i)
				w.registerAs(cluster.Descriptor{ID: id, Probe: nodes.URL + "/hangs"})
				w.heard(id, time.Hour)
			}
			config := usual
			config.LeaseTTL, config.PruneMax = c.lease, 1
			ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
			defer cancel()
			r, err := w.sweeper(config).Sweep(ctx)
			require.NoError(t, err)
			assert.Equal(t, []string{"mute"}, r.PrunedIDs)
			assert.Equal(t, 3*probesAtOnce+1, r.Stale)
		})
	}
}
