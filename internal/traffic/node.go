package traffic

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Headers by which a node says who answered.
const (
	nodeHeader    = "X-Demo-Node"
	versionHeader = "X-Demo-Version"
)

// HealthPath is answered 503 while the node is paused, else 200.
const HealthPath = "/_health"

// Node is one node: an HTTP server at an address that stays the same for all its
// lives, one for each version. The exported fields are set before the first start.
type Node struct {
	ID, Group string
	Target    string // as the load balancer knows it; empty where nobody asks
	Address   string // host:port; the port is 0 before the first start

	version  atomic.Int64 // of the current life, or the last one
	paused   atomic.Bool  // a pause covers the node
	inFlight atomic.Int64
	arrivals atomic.Int64 // since the node exists, health checks apart
	latest   atomic.Int64 // wall clock of the last arrival, in ns since the Unix epoch

	server  *http.Server // of the current life; nil while stopped
	serving sync.WaitGroup
	member  *member // of the current life; nil without a registry
}

// Start listens on the node's address and serves as version.
func (n *Node) Start(ctx context.Context, version int) error {
	listener, err := Listen(ctx, n.Address)
	if err != nil {
		return fmt.Errorf("start %s: %w", n.ID, err)
	}
	n.Address = listener.Addr().String()
	n.version.Store(int64(version))
	n.server = &http.Server{Handler: n, ReadHeaderTimeout: time.Minute}
	server := n.server
	n.serving.Go(func() { _ = server.Serve(listener) }) // ends with ErrServerClosed
	return nil
}

// Listen listens on address, which is on loopback. It falls back to 127.0.0.1, for
// a port that is still open, where the system has no other loopback addresses.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if _, port, _ := net.SplitHostPort(address); port == "0" && errors.Is(err, syscall.EADDRNOTAVAIL) {
		return config.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	return listener, err
}

// Stop ends the current life as the end of a process would: the listener and all
// connections are closed, whatever goes on in them.
func (n *Node) Stop() {
	if n.server == nil {
		return
	}
	_ = n.server.Close()
	n.serving.Wait()
	n.server = nil
}

// URL is the node's endpoint.
func (n *Node) URL() string { return "http://" + n.Address }

// Version is that of the current life, or of the last one.
func (n *Node) Version() int { return int(n.version.Load()) }

// Running reports whether the node serves. It is not safe beside Start and Stop.
func (n *Node) Running() bool { return n.server != nil }

// Paused reports whether the node knows of a pause that covers it.
func (n *Node) Paused() bool { return n.paused.Load() }

// InFlight returns how many requests it is answering.
func (n *Node) InFlight() int64 { return n.inFlight.Load() }

// QuietSince returns for how much of the time from began to now nothing has
// arrived; zero while requests are in flight.
func (n *Node) QuietSince(began, now time.Time) time.Duration {
	if n.inFlight.Load() > 0 {
		return 0
	}
	return max(0, min(now.Sub(began), now.Sub(time.Unix(0, n.latest.Load()))))
}

// ServeHTTP answers health checks, GET with the path's page and POST with a
// receipt.
func (n *Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(nodeHeader, n.ID)
	w.Header().Set(versionHeader, strconv.FormatInt(n.version.Load(), 10))
	if r.URL.Path == HealthPath {
		if n.paused.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return
	}
	n.inFlight.Add(1)
	defer n.inFlight.Add(-1)
	n.latest.Store(time.Now().UnixNano())
	n.arrivals.Add(1)
	switch r.Method {
	case http.MethodGet:
		_, _ = w.Write(page(r.URL.Path)) // the client finds what is missing
	case http.MethodPost:
		takeIn(w, r)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// takeIn reads the body and answers with its receipt, or 400 if it is cut short.
func takeIn(w http.ResponseWriter, r *http.Request) {
	hash := sha256.New()
	size, err := io.Copy(hash, r.Body)
	if err != nil {
		http.Error(w, "read body: "+err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(receipt(hash.Sum(nil), size))
}
