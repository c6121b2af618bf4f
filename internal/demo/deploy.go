package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/detourhq/detour/internal/localalb"
	"github.com/detourhq/detour/internal/traffic"
	"github.com/detourhq/detour/pkg/cluster"
)

// deployment brings new versions to the nodes of a world.
type deployment struct {
	*world
	version int // that is being deployed; 1 before the first round
}

// run deploys every node, round by round. It ends with the first error.
func (d *deployment) run(ctx context.Context) error {
	if err := d.steady(ctx); err != nil {
		return err
	}
	for range d.config.Rounds {
		d.version++
		for _, g := range groups {
			if err := d.deploy(ctx, g); err != nil {
				return err
			}
		}
	}
	return nil
}

// deploy brings the version to one group: to a single node first, which shows
// that the version is good, then to the group as a whole. A node that is alone
// has nobody to leave its requests to.
func (d *deployment) deploy(ctx context.Context, group string) error {
	nodes := d.nodesOf(group)
	if d.config.WithoutDetour {
		return d.unannounced(ctx, nodes)
	}
	if len(nodes) > 1 {
		if err := d.alone(ctx, nodes[0]); err != nil {
			return err
		}
		if err := d.steady(ctx); err != nil {
			return err
		}
	}
	if err := d.together(ctx, group, nodes); err != nil {
		return err
	}
	return d.steady(ctx)
}

// unannounced stops and starts one node after the other.
func (d *deployment) unannounced(ctx context.Context, nodes []*traffic.Node) error {
	for _, n := range nodes {
		d.phase("deploying " + n.ID)
		if err := d.replace(ctx, []*traffic.Node{n}); err != nil {
			return err
		}
		if err := d.awaitHealthy(ctx, n.ID, []*traffic.Node{n}); err != nil {
			return err
		}
	}
	return d.steady(ctx)
}

// alone deploys one node while its peers go on. No rule changes: the load
// balancer learns of the pause from the node's health check, and until then the
// node serves what still arrives.
func (d *deployment) alone(ctx context.Context, n *traffic.Node) error {
	nodes := []*traffic.Node{n}
	d.phase("pausing " + n.ID)
	if err := n.Pause(ctx, fmt.Sprintf("version %d", d.version)); err != nil {
		return err
	}
	if err := d.awaitOut(ctx, n); err != nil {
		return err
	}
	if err := d.drain(ctx, n.ID, nodes); err != nil {
		return err
	}
	d.phase("deploying " + n.ID)
	if err := d.replace(ctx, nodes); err != nil {
		return err
	}
	return d.awaitHealthy(ctx, n.ID, nodes)
}

// together deploys all nodes of a group at once, while the redirect function
// answers for the group. Pausing takes the registry first, then the rule;
// resuming the registry, then the rule once the targets are healthy: at no
// moment does a request meet a stopped node.
func (d *deployment) together(ctx context.Context, group string, nodes []*traffic.Node) error {
	d.phase("pausing " + group)
	request := cluster.PauseRequest{By: "demo", Reason: fmt.Sprintf("version %d", d.version)}
	if _, err := d.registry.Pause(ctx, cluster.GroupTarget(group), request); err != nil {
		return fmt.Errorf("pause %s: %w", group, err)
	}
	if err := d.balancer.SetWeights(group, d.weights(group, true)); err != nil {
		return fmt.Errorf("divert %s: %w", group, err)
	}
	if err := d.awaitObeyed(ctx, group, nodes); err != nil {
		return err
	}
	if err := d.drain(ctx, group, nodes); err != nil {
		return err
	}
	d.phase("deploying " + group)
	if err := d.replace(ctx, nodes); err != nil {
		return err
	}
	d.phase("resuming " + group)
	if _, _, err := d.registry.Resume(ctx, cluster.GroupTarget(group), "demo", ""); err != nil {
		return fmt.Errorf("resume %s: %w", group, err)
	}
	if err := d.awaitHealthy(ctx, group, nodes); err != nil {
		return err
	}
	if err := d.balancer.SetWeights(group, d.weights(group, false)); err != nil {
		return fmt.Errorf("restore rule of %s: %w", group, err)
	}
	return nil
}

// replace ends the current life of the nodes, all at once, and starts the next
// one as the new version.
func (d *deployment) replace(ctx context.Context, nodes []*traffic.Node) error {
	for _, n := range nodes {
		if err := n.Leave(ctx); err != nil {
			return err
		}
		n.Stop()
	}
	if err := rest(ctx, d.config.pace.down); err != nil {
		return err
	}
	for _, n := range nodes {
		if err := n.Start(ctx, d.version); err != nil {
			return err
		}
		if d.registry == nil {
			continue
		}
		if err := n.Join(ctx, d.registry); err != nil {
			return err
		}
	}
	return nil
}

// steady lets the traffic go on with nothing deployed.
func (d *deployment) steady(ctx context.Context) error {
	d.phase("steady traffic")
	return rest(ctx, d.config.pace.steady)
}

// awaitOut waits until the load balancer has taken n out.
func (d *deployment) awaitOut(ctx context.Context, n *traffic.Node) error {
	return await(ctx, d.config.pace.limit, n.ID+" was not taken out by the load balancer", func() string {
		if h := d.health(n.Group, n.Address); h.State != localalb.StateUnhealthy {
			return fmt.Sprintf("it is %s", h.State)
		}
		return ""
	})
}

// awaitObeyed waits until all nodes know that they are paused.
func (d *deployment) awaitObeyed(ctx context.Context, group string, nodes []*traffic.Node) error {
	return await(ctx, d.config.pace.limit, group+" did not obey its pause", func() string {
		var deaf []string
		for _, n := range nodes {
			if !n.Paused() {
				deaf = append(deaf, n.ID)
			}
		}
		return strings.Join(deaf, ", ")
	})
}

// drain waits until nothing is in flight at the nodes and nothing has arrived
// for a while since now. Whoever was sent there before the pause has arrived by
// then.
func (d *deployment) drain(ctx context.Context, name string, nodes []*traffic.Node) error {
	d.phase("draining " + name)
	began := time.Now()
	return await(ctx, d.config.pace.limit, name+" did not drain", func() string {
		inFlight, quiet := int64(0), true
		for _, n := range nodes {
			inFlight += n.InFlight()
			quiet = quiet && n.QuietSince(began, time.Now()) >= d.config.pace.quiet
		}
		switch {
		case inFlight > 0:
			return fmt.Sprintf("%d in flight", inFlight)
		case !quiet:
			return "requests still arrive"
		}
		return ""
	})
}
