package traffic

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/detourhq/detour/internal/agent"
	"github.com/detourhq/detour/pkg/cluster"
)

// PulseEvery is the nodes' pulse interval.
const PulseEvery = time.Second

// member is one life of a node in the registry.
type member struct {
	agent *agent.Agent
	stop  context.CancelFunc
	ended chan struct{} // closed when the agent no longer runs
}

// Join registers the node, which is running, as active, and keeps it registered
// until it leaves.
func (n *Node) Join(ctx context.Context, registry *cluster.Registry) error {
	a := agent.New(registry, agent.Config{
		Descriptor: cluster.Descriptor{
			ID: n.ID, Group: n.Group, Target: n.Target, Endpoint: n.URL(), Weight: cluster.DefaultWeight,
			Probe: n.URL() + HealthPath, Version: strconv.FormatInt(n.version.Load(), 10),
		},
		PulseEvery: PulseEvery,
		Figures: func() cluster.Figures {
			return cluster.Figures{InFlight: n.inFlight.Load(), Arrivals: n.arrivals.Load()}
		},
		OnChange: func(c agent.Cover) { n.paused.Store(c.Paused) },
	})
	n.paused.Store(false)
	if err := a.Start(ctx); err != nil {
		return fmt.Errorf("register %s: %w", n.ID, err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	m := &member{agent: a, stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(m.ended)
		_ = a.Run(running) // fails only if another node takes this one's id
	}()
	n.member = m
	return nil
}

// Pause has the node report itself paused, until it joins again; see [agent.Agent.Pause].
// It must have joined.
func (n *Node) Pause(ctx context.Context, reason string) error {
	return n.member.agent.Pause(ctx, reason)
}

// Leave takes the node out of the registry; it goes on serving.
func (n *Node) Leave(ctx context.Context) error {
	if n.member == nil {
		return nil
	}
	err := n.member.agent.Leave(ctx)
	n.member.stop()
	<-n.member.ended
	n.member = nil
	return err
}
