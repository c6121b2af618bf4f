package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/detourhq/detour/internal/traffic"
)

// Run makes the whole demo and returns what became of the requests, also beside
// an error: then a part of the deployment failed, ctx ended, or something could
// not be started or removed. That requests failed is no error. report, unless
// nil, is told how it goes, from one goroutine, with every phase and several
// times a second.
func Run(ctx context.Context, c Config, report func(Progress)) (traffic.Result, error) {
	none := traffic.Result{Failures: []traffic.Failure{}}
	c, err := c.withDefaults()
	if err != nil {
		return none, err
	}
	m := newMonitor(time.Now())
	defer m.watch(report)()
	w, err := newWorld(ctx, c, m.enter)
	if err != nil {
		return none, fmt.Errorf("demo: %w", err)
	}
	result, err := w.run(ctx, m)
	m.enter("cleaning up")
	err = errors.Join(err, w.close(ctx))
	m.enter("done")
	if err != nil {
		return result, fmt.Errorf("demo: %w", err)
	}
	return result, nil
}

// run deploys under load.
func (w *world) run(ctx context.Context, m *monitor) (traffic.Result, error) {
	t := traffic.NewTally(time.Now())
	m.observe(t.Counts, w.deployed)
	l := traffic.NewLoad(w.balancer.URL(), w.config.Rate, groups, t, m.current)
	stop := make(chan struct{})
	var loading sync.WaitGroup
	loading.Go(func() { l.Run(ctx, stop) })

	d := deployment{world: w, version: 1}
	err := d.run(ctx)
	close(stop)
	loading.Wait()
	result := t.Final(time.Now())
	result.NodesDeployed = w.running(1 + w.config.Rounds)
	return result, err
}
