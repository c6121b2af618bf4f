package bench

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/gate"
	"github.com/detourhq/detour/pkg/redirect"
)

// still is a registry in which nothing happens.
type still struct{ snapshot cluster.Snapshot }

func (s *still) Snapshot(context.Context) (*cluster.Snapshot, cluster.Origin, error) {
	return &s.snapshot, cluster.FromRegistry, nil
}

// discard is a ResponseWriter that costs nothing itself.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header { return d.header }

func (*discard) Write(b []byte) (int, error) { return len(b), nil }

func (*discard) WriteHeader(int) {}

// BenchmarkGate asks a handler, and the same one behind an open gate.
func BenchmarkGate(b *testing.B) {
	s := &still{cluster.Snapshot{Epoch: 1_700_000_000_000, Time: 1_700_000_000_000, ReadAt: time.Now(), Nodes: []cluster.Node{{
		Descriptor: cluster.Descriptor{ID: "n1", Group: "blue", Endpoint: "https://n1.example.com", Contexts: []string{"/", "/shop"}},
		Report:     cluster.Report{Status: cluster.Active}, Pulse: 1_700_000_000_000,
	}}}}
	g := gate.New(gate.Config{Node: "n1", Source: s, Redirect: redirect.Config{SessionCookie: "JSESSIONID"}})
	require.NoError(b, g.Look(b.Context()))
	bare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for _, c := range []struct {
		name    string
		handler http.Handler
	}{{"bare", bare}, {"gate", g.Wrap(bare)}} {
		b.Run(c.name, func(b *testing.B) {
			w := &discard{make(http.Header)}
			r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/shop/cart?item=42", nil)
			r.Header.Set("Cookie", "theme=dark; JSESSIONID=0123456789ABCDEF0123456789ABCDEF.n1")
			r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64)")
			b.ReportAllocs()
			for b.Loop() {
				c.handler.ServeHTTP(w, r)
			}
		})
	}
}

// echoing gives each connection a byte, and waits for its end: the least that a gate
// can do.
func echoing(b *testing.B, path string) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	require.NoError(b, err)
	b.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				_, _ = conn.Write([]byte{gate.Go})
				_, _ = io.Copy(io.Discard, conn)
			}()
		}
	}()
}

// BenchmarkGateSocket is what a request costs: connect, wait for the byte, close.
func BenchmarkGateSocket(b *testing.B) {
	dir := b.TempDir()
	echoing(b, filepath.Join(dir, "bare"))
	s, err := gate.Listen(filepath.Join(dir, "gate"), gate.SocketConfig{})
	require.NoError(b, err)
	defer func() { _ = s.Close() }()
	for _, name := range []string{"bare", "gate"} {
		b.Run(name, func(b *testing.B) {
			address := &net.UnixAddr{Name: filepath.Join(dir, name)}
			for b.Loop() {
				conn, err := net.DialUnix("unix", nil, address)
				require.NoError(b, err)
				_, err = io.ReadFull(conn, make([]byte, 1))
				require.NoError(b, err)
				_ = conn.Close()
			}
		})
	}
}
