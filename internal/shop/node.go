package shop

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/detourhq/detour/internal/traffic"
	"github.com/detourhq/detour/pkg/cluster"
)

// Headers by which the application says in which life of which node it answered.
const (
	nodeHeader    = "X-Demo-Node"
	versionHeader = "X-Demo-Version"
)

// HealthPath is what the load balancer asks, and the gate answers.
const HealthPath = "/_health"

// Node is one node of the shop: application, gate and agent, at an address that stays
// the same for all its lives. The exported fields are set before the first start. But
// for Version it is for one goroutine.
type Node struct {
	ID, Group string
	Address   string // host:port; the port is 0 before the first start
	Registry  *cluster.Registry
	GateEvery time.Duration // how often the gate looks for pauses; zero means its default

	version atomic.Int64 // of the current life, or the last one
	life    *life        // nil while stopped
}

// Start begins a life of the node as version, with no session, and returns once the
// registry offers it. After an error the node is stopped.
func (n *Node) Start(ctx context.Context, version int) error {
	listener, err := traffic.Listen(ctx, n.Address)
	if err != nil {
		return fmt.Errorf("start %s: %w", n.ID, err)
	}
	n.Address = listener.Addr().String()
	n.version.Store(int64(version))
	n.life = newLife(n)
	if err := n.life.begin(ctx, listener); err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", n.ID, err), n.Stop(ctx))
	}
	return nil
}

// Stop takes the node out of the registry and ends its life as the end of a process
// would, whatever goes on and whatever it remembers.
func (n *Node) Stop(ctx context.Context) error {
	if n.life == nil {
		return nil
	}
	err := n.life.end(ctx)
	n.life = nil
	return err
}

// Sessions returns how many sessions live on the node; none while it is stopped.
func (n *Node) Sessions() int {
	if n.life == nil {
		return 0
	}
	return int(n.life.app.sessions())
}

// URL is the node's endpoint.
func (n *Node) URL() string { return "http://" + n.Address }

// Version is that of the current life, or of the last one. It is safe for concurrent
// use.
func (n *Node) Version() int { return int(n.version.Load()) }

// Life names the current life, or the last one.
func (n *Node) Life() Life { return Life{Node: n.ID, Version: strconv.Itoa(n.Version())} }

// Life is one life of a node.
type Life struct{ Node, Version string }

func lifeOf(header http.Header) Life {
	return Life{Node: header.Get(nodeHeader), Version: header.Get(versionHeader)}
}

func (l Life) sign(header http.Header) {
	header.Set(nodeHeader, l.Node)
	header.Set(versionHeader, l.Version)
}
