package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/detourhq/detour/internal/localalb"
	"github.com/detourhq/detour/internal/traffic"
)

// groups are the two groups of the demo. They belong to one service, and stand
// in for each other.
var groups = []string{"blue", "green"}

// world is everything that the clients talk to. Without Detour it has no
// registry.
type world struct {
	stage
	config Config
	nodes  []*traffic.Node // by group, then by number
}

// newWorld starts everything that c asks for, and waits until it is healthy.
// phase is told what begins, now and during a deployment. The caller must close
// the world.
func newWorld(ctx context.Context, c Config, phase func(string)) (*world, error) {
	w := &world{stage: stage{phase: phase}, config: c}
	if err := w.setUp(ctx); err != nil {
		return nil, errors.Join(err, w.close(ctx))
	}
	return w, nil
}

func (w *world) setUp(ctx context.Context) error {
	w.phase("starting")
	if err := w.startNodes(ctx); err != nil {
		return err
	}
	if err := w.startBalancer(ctx); err != nil {
		return err
	}
	if !w.config.WithoutDetour {
		if err := w.startDetour(ctx); err != nil {
			return err
		}
	}
	for _, g := range groups {
		if err := w.addRule(g); err != nil {
			return err
		}
	}
	for _, g := range groups {
		if err := w.awaitHealthy(ctx, g, w.nodesOf(g)); err != nil {
			return err
		}
	}
	return nil
}

// startNodes starts every node as version 1.
func (w *world) startNodes(ctx context.Context) error {
	for _, g := range groups {
		for i := range w.config.Nodes {
			n := &traffic.Node{ID: fmt.Sprintf("%s-%d", g, i+1), Group: g, Address: addressOf(len(w.nodes))}
			if err := n.Start(ctx, 1); err != nil {
				return err
			}
			w.atEnd(func(context.Context) error { n.Stop(); return nil })
			w.nodes = append(w.nodes, n)
		}
	}
	return nil
}

// startBalancer starts the load balancer, with a target group for each group.
func (w *world) startBalancer(ctx context.Context) error {
	if err := w.openBalancer(); err != nil {
		return err
	}
	for _, g := range groups {
		health := localalb.HealthCheck{Path: traffic.HealthPath, Interval: w.config.pace.check, HealthyThreshold: 2, UnhealthyThreshold: 2}
		if err := w.balancer.AddHTTPGroup(g, localalb.HTTPGroup{Health: health}); err != nil {
			return err
		}
		for _, n := range w.nodesOf(g) {
			if err := w.balancer.Register(g, n.Address); err != nil { //nolint:contextcheck // health checks live until Close
				return err
			}
		}
	}
	return w.balancer.Start(ctx)
}

// addRule sends what is meant for group to its nodes.
func (w *world) addRule(group string) error {
	return w.balancer.SetRule(localalb.Rule{
		Name:       group,
		Priority:   10 * (1 + slices.Index(groups, group)),
		Conditions: []localalb.Condition{localalb.PathPattern(prefix(group) + "/*")},
		Action:     localalb.Forward(w.weights(group, false)),
	})
}

// prefix is the first segment of the paths that mean group.
func prefix(group string) string { return "/" + group }

// weights are those of the group's rule while its traffic is diverted to the
// redirect function, or is not. A group at 0 stays in the rule, and so its
// targets' health stays known.
func (w *world) weights(group string, diverted bool) map[string]int {
	switch {
	case w.registry == nil:
		return map[string]int{group: 100}
	case diverted:
		return map[string]int{group: 0, functionGroup: 100}
	default:
		return map[string]int{group: 100, functionGroup: 0}
	}
}

func (w *world) nodesOf(group string) []*traffic.Node {
	var found []*traffic.Node
	for _, n := range w.nodes {
		if n.Group == group {
			found = append(found, n)
		}
	}
	return found
}

// awaitHealthy waits until the load balancer sees all nodes healthy. name is for
// the error.
func (w *world) awaitHealthy(ctx context.Context, name string, nodes []*traffic.Node) error {
	return await(ctx, w.config.pace.limit, name+" did not get healthy", func() string {
		var ill []string
		for _, n := range nodes {
			if h := w.health(n.Group, n.Address); h.State != localalb.StateHealthy {
				ill = append(ill, strings.TrimSpace(fmt.Sprintf("%s is %s %s", n.ID, h.State, h.Reason)))
			}
		}
		return strings.Join(ill, ", ")
	})
}

// clusterName returns a new name for the demo's cluster, so that it meets no
// other one in the same registry.
func clusterName() string { return "demo-" + strings.ToLower(rand.Text()) }

// deployed returns how many new versions the nodes have got, and how many they
// are to get. It is safe for concurrent use.
func (w *world) deployed() (done, total int) {
	for _, n := range w.nodes {
		done += n.Version() - 1
	}
	return done, w.config.Rounds * len(w.nodes)
}

// running returns how many nodes run that version.
func (w *world) running(version int) int {
	count := 0
	for _, n := range w.nodes {
		if n.Running() && n.Version() == version {
			count++
		}
	}
	return count
}
