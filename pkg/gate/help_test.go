package gate

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/redirect"
)

var passKey = []byte("0123456789abcdef")

// world is a registry in memory, whose clock is an hour ahead of this machine's.
// It is a [Source].
type world struct {
	t *testing.T

	mu       sync.Mutex // guards the following
	snapshot cluster.Snapshot
	err      error
	static   *cluster.Snapshot // beside err
}

const ahead = time.Hour

// newWorld returns a registry of living nodes in the group blue; the node that
// gates guard is n1.
func newWorld(t *testing.T, ids ...string) *world {
	w := &world{t: t}
	w.change(func(s *cluster.Snapshot) {
		for _, id := range ids {
			s.Nodes = append(s.Nodes, cluster.Node{
				Descriptor: cluster.Descriptor{
					ID: id, Group: "blue", Endpoint: "https://" + id + ".example.com", Weight: 100,
					Contexts: []string{"/", "/shop"}, Routes: []string{"route-" + id}, PulseMS: time.Hour.Milliseconds(),
				},
				Report: cluster.Report{Status: cluster.Active},
				Pulse:  s.Time,
			})
		}
	})
	return w
}

// change makes a new snapshot of the one before, with the next epoch.
func (w *world) change(f func(*cluster.Snapshot)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := w.snapshot
	next.Epoch++
	next.ReadAt = time.Now()
	next.Time = cluster.Millis(next.ReadAt.Add(ahead).UnixMilli())
	next.Nodes = append([]cluster.Node(nil), next.Nodes...)
	next.Pauses = make(map[cluster.Target]cluster.Pause)
	for target, p := range w.snapshot.Pauses {
		next.Pauses[target] = p
	}
	f(&next)
	w.snapshot = next
}

// pause puts a pause on a target; resume lifts it.
func (w *world) pause(target string, p cluster.Pause) {
	on, err := cluster.ParseTarget(target)
	require.NoError(w.t, err)
	w.change(func(s *cluster.Snapshot) { s.Pauses[on] = p })
}

func (w *world) resume(target string) {
	on, err := cluster.ParseTarget(target)
	require.NoError(w.t, err)
	w.change(func(s *cluster.Snapshot) { delete(s.Pauses, on) })
}

// report has the first node say this of itself.
func (w *world) report(status cluster.Status) {
	w.change(func(s *cluster.Snapshot) { s.Nodes[0].Report = cluster.Report{Status: status} })
}

func (w *world) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
}

// fallBack has the source give a static list beside its error.
func (w *world) fallBack() {
	s, err := cluster.Static([]string{"https://n1", "https://n2"}, time.Now())
	require.NoError(w.t, err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.static = s
}

func (w *world) Snapshot(context.Context) (*cluster.Snapshot, cluster.Origin, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil && w.static != nil:
		return w.static, cluster.FromStatic, w.err
	case w.err != nil:
		return nil, "", w.err
	}
	s := w.snapshot
	return &s, cluster.FromRegistry, nil
}

// guarded returns a gate of n1 that has looked once, and the handler behind it,
// which answers 200 with what it saw of the URL.
func (w *world) guarded(change ...func(*Config)) (*Gate, http.Handler) {
	w.t.Helper()
	c := Config{
		Node: "n1", Source: w,
		Redirect: redirect.Config{SessionCookie: "JSESSIONID", PassKey: passKey},
		Random:   &dice{pcg: rand.NewPCG(1, 2)},
	}
	for _, f := range change {
		f(&c)
	}
	g := New(c)
	require.NoError(w.t, g.Look(w.t.Context()))
	return g, g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Saw", r.RequestURI)
	}))
}

// dice are the same in each test.
type dice struct {
	mu  sync.Mutex
	pcg *rand.PCG
}

func (d *dice) Uint64() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pcg.Uint64()
}

// send returns a request as a server gets it.
func send(method, target string, body io.Reader) *http.Request {
	return httptest.NewRequestWithContext(context.Background(), method, target, body)
}

// ask sends a request through h; header is a list of names and values.
func ask(h http.Handler, method, target string, header ...string) *httptest.ResponseRecorder {
	r := send(method, target, nil)
	r.RemoteAddr = "192.0.2.7:1234"
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
