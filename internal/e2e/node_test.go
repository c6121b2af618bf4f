package e2e

import (
	"context"
	"crypto/sha256"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// node is a server that takes traffic and remembers it, but for the load
// balancer's health checks.
type node struct {
	endpoint string
	server   *httptest.Server

	mu  sync.Mutex
	got []arrival
}

// arrival is one request as a node saw it.
type arrival struct {
	method, uri string // the request target as received
	header      http.Header
	size        int
	hash        [sha256.Size]byte // of the body
}

// startNode starts a node on a free port of ip, a loopback address.
func startNode(t *testing.T, ip string) *node {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", ip+":0")
	require.NoError(t, err)
	n := &node{}
	server := httptest.NewUnstartedServer(n)
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	n.endpoint, n.server = server.URL, server
	return n
}

// quiet returns once nothing has arrived for a while.
func (n *node) quiet(ctx context.Context) error {
	const enough = time.Second
	for last := -1; ; {
		n.mu.Lock()
		arrived := len(n.got)
		n.mu.Unlock()
		if arrived == last {
			return nil
		}
		last = arrived
		select {
		case <-time.After(enough):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.UserAgent(), "ELB-HealthChecker/") {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.got = append(n.got, arrival{r.Method, r.RequestURI, r.Header.Clone(), len(body), sha256.Sum256(body)})
}

// take returns what has arrived since the last call.
func (n *node) take() []arrival {
	n.mu.Lock()
	defer n.mu.Unlock()
	got := n.got
	n.got = nil
	return got
}
