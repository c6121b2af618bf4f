package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/detourhq/detour/internal/shop"
	"github.com/detourhq/detour/internal/traffic"
)

// RunSessions deploys every node of a shop in turn while customers are logged in, and
// returns what became of their requests and sessions, as [Run] does.
//
// The shop is what many are: one target group with stickiness, so that a session
// stays on its node, and no session store. Each node has a gate before it, and an
// agent beside it. A pause of a node moves no rule, and its own gate decides: it lets
// in the node's sessions and sends newcomers on, to the host of another node, where
// they log in and stay. No session is ever led to another host: its cookie would not
// come along. The load balancer asks the gate, which answers well while it drains
// sessions: a target that is not well loses its own to others (AWS, "Sticky sessions
// for your Application Load Balancer").
func RunSessions(ctx context.Context, c SessionsConfig, report func(Progress)) (shop.Result, error) {
	none := shop.Result{Failures: []traffic.Failure{}}
	c, err := c.withDefaults()
	if err != nil {
		return none, err
	}
	m := newMonitor(time.Now())
	defer m.watch(report)()
	m.enter("starting")
	w := &shopWorld{stage: stage{phase: m.enter}, config: c}
	result := none
	if err = w.setUp(ctx); err == nil {
		result, err = w.run(ctx, m)
	}
	m.enter("cleaning up")
	err = errors.Join(err, w.close(ctx))
	m.enter("done")
	if err != nil {
		return result, fmt.Errorf("demo: %w", err)
	}
	return result, nil
}

// run deploys under load.
func (w *shopWorld) run(ctx context.Context, m *monitor) (shop.Result, error) {
	w.tally = shop.NewTally(time.Now())
	m.observe(w.counts, w.deployed)
	l := shop.Load{URL: w.balancer.URL(), Rate: w.config.Rate, Think: w.config.pace.think, Tally: w.tally, Phase: m.current}
	stop := make(chan struct{})
	var loading sync.WaitGroup
	loading.Go(func() { l.Run(ctx, stop) })

	err := w.deploy(ctx)
	close(stop)
	loading.Wait()
	return w.tally.Final(time.Now()), err
}

// counts tells the progress as the other demo does.
func (w *shopWorld) counts() traffic.Result {
	r := w.tally.Counts()
	return traffic.Result{Requests: r.Requests, OK: r.OK, Failed: r.Failed + r.SessionsLost, Redirected: r.Redirected}
}
