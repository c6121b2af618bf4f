package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/internal/localalb"
	"github.com/detourhq/detour/internal/shop"
	"github.com/detourhq/detour/internal/traffic"
	"github.com/detourhq/detour/pkg/redirect"
	"github.com/detourhq/detour/pkg/selection"
)

// shopGroup is the shop's only group, and target group.
const shopGroup = "shop"

// stickyFor is the load balancer's default for stickiness.
const stickyFor = 24 * time.Hour

// shopWorld is everything that customers talk to, and what pauses it.
type shopWorld struct {
	stage
	config SessionsConfig
	nodes  []*shop.Node
	runner *command.Runner // carries out what an operator would ask
	tally  *shop.Tally
}

func (w *shopWorld) setUp(ctx context.Context) error {
	name := clusterName()
	if _, err := w.openRegistry(ctx, w.config.RedisURL, name); err != nil {
		return err
	}
	w.runner = &command.Runner{
		Cluster: name, Registry: w.registry, Wall: time.Now,
		Redirect: redirect.Config{Selection: selection.Config{PulseTimeout: 15 * traffic.PulseEvery}},
	}
	for i := range w.config.Nodes {
		n := &shop.Node{
			ID: fmt.Sprintf("%s-%d", shopGroup, i+1), Group: shopGroup, Address: addressOf(i),
			Registry: w.registry, GateEvery: w.config.pace.look,
		}
		if err := n.Start(ctx, 1); err != nil {
			return err
		}
		w.atEnd(n.Stop)
		w.nodes = append(w.nodes, n)
	}
	if err := w.startBalancer(ctx); err != nil {
		return err
	}
	return w.awaitHealthy(ctx, w.nodes...)
}

func (w *shopWorld) startBalancer(ctx context.Context) error {
	if err := w.openBalancer(); err != nil {
		return err
	}
	health := localalb.HealthCheck{Path: shop.HealthPath, Interval: w.config.pace.check, HealthyThreshold: 2, UnhealthyThreshold: 2}
	if err := w.balancer.AddHTTPGroup(shopGroup, localalb.HTTPGroup{Health: health, StickyFor: stickyFor}); err != nil {
		return err
	}
	for _, n := range w.nodes {
		if err := w.balancer.Register(shopGroup, n.Address); err != nil { //nolint:contextcheck // health checks live until Close
			return err
		}
	}
	if err := w.balancer.SetDefault(localalb.Forward{shopGroup: 1}); err != nil {
		return err
	}
	return w.balancer.Start(ctx)
}

// awaitHealthy waits until the load balancer sees the nodes healthy.
func (w *shopWorld) awaitHealthy(ctx context.Context, nodes ...*shop.Node) error {
	return await(ctx, w.config.pace.limit, "the shop did not get healthy", func() string {
		var ill []string
		for _, n := range nodes {
			if h := w.health(shopGroup, n.Address); h.State != localalb.StateHealthy {
				ill = append(ill, fmt.Sprintf("%s is %s", n.ID, h.State))
			}
		}
		return strings.Join(ill, ", ")
	})
}

// deployed returns how many new versions the nodes have got, and how many they are to
// get. It is safe for concurrent use.
func (w *shopWorld) deployed() (done, total int) {
	for _, n := range w.nodes {
		done += n.Version() - 1
	}
	return done, w.config.Rounds * len(w.nodes)
}
