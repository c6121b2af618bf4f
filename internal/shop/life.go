package shop

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/detourhq/detour/internal/agent"
	"github.com/detourhq/detour/internal/traffic"
	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/gate"
	"github.com/detourhq/detour/pkg/redirect"
)

// life is one process of a node.
type life struct {
	app   *app
	gate  *gate.Gate
	agent *agent.Agent

	server *http.Server
	stop   context.CancelFunc // of gate and agent; nil before they run
	ended  sync.WaitGroup
}

func newLife(n *Node) *life {
	l := &life{app: newApp(n.ID)}
	l.gate = gate.New(gate.Config{
		Node: n.ID, Every: n.GateEvery,
		Source:   cluster.NewCache(n.Registry, cluster.CacheConfig{StaleIfError: time.Minute}, time.Now),
		Redirect: redirect.Config{SessionCookie: SessionCookie},
		Sessions: l.app.sessions,
	})
	l.agent = agent.New(n.Registry, agent.Config{
		Descriptor: cluster.Descriptor{
			ID: n.ID, Group: n.Group, Endpoint: n.URL(), Weight: cluster.DefaultWeight,
			Routes: []string{n.ID}, Version: n.Life().Version,
		},
		PulseEvery: traffic.PulseEvery,
		Figures:    l.gate.Figures,
	})
	l.server = &http.Server{Handler: l.gate.Wrap(signed(n.Life(), l.app.handler())), ReadHeaderTimeout: time.Minute}
	return l
}

// signed has next answer in the name of that life.
func signed(by Life, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by.sign(w.Header())
		next.ServeHTTP(w, r)
	})
}

// begin registers the node and looks for pauses before it serves on listener, where
// requests wait meanwhile: from the first of them on the gate obeys a pause that is on
// the node already.
func (l *life) begin(ctx context.Context, listener net.Listener) error {
	if err := l.agent.Start(ctx); err != nil {
		_ = listener.Close()
		return err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	if err := l.gate.Look(ctx); err != nil {
		_ = listener.Close()
		return err
	}
	l.ended.Go(func() { _ = l.server.Serve(listener) }) // ends with ErrServerClosed
	l.ended.Go(func() { l.gate.Run(running) })
	l.ended.Go(func() { _ = l.agent.Run(running) }) // fails only if another node takes this one's id
	return nil
}

// end leaves the registry and closes listener and connections.
func (l *life) end(ctx context.Context) error {
	var err error
	if l.stop != nil {
		if err = l.agent.Leave(ctx); err != nil {
			err = fmt.Errorf("stop shop node: %w", err)
		}
		l.stop()
	}
	_ = l.server.Close()
	l.ended.Wait()
	return err
}
