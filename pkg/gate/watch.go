package gate

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// Run keeps the gate up to date, and reports its figures where it is told to,
// until ctx ends.
func (g *Gate) Run(ctx context.Context) {
	var reporting sync.WaitGroup
	defer reporting.Wait()
	if g.config.Report != "" {
		reporting.Go(func() { g.report(ctx) })
	}
	ticks := time.NewTicker(g.config.Every)
	defer ticks.Stop()
	for failing := false; ; {
		err := g.Look(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failing {
			g.config.Log.WarnContext(ctx, "gate acts on what it knew, registry fails", "err", err)
		} else if err == nil && failing {
			g.config.Log.InfoContext(ctx, "gate reads the registry again")
		}
		failing = err != nil
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}

// Look reads the registry once and acts on it from then on; it takes a second at
// most, once another call has ended. On error the gate acts on the best that it knows: pauses that end by time
// still do, and no other does.
func (g *Gate) Look(ctx context.Context) error {
	g.looking.Lock()
	defer g.looking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, mostEvery)
	defer cancel()
	s, origin, err := g.config.Source.Snapshot(ctx)
	before := g.state.Load()
	if s == nil || origin == cluster.FromStatic {
		s = before.snapshot // a static list knows of no pause
	}
	next := newState(s, g.config.Node, registryTime(s, g.config.Now()))
	if !next.same(before) {
		next.complete(before, &g.config)
		g.obey(ctx, before, next)
	}
	if err != nil {
		return fmt.Errorf("look for pauses of node %s: %w", g.config.Node, err)
	}
	return nil
}

// obey makes next what the gate acts on. Whoever waits looks again.
func (g *Gate) obey(ctx context.Context, before, next *state) {
	if next.open {
		g.counter.Resume()
	} else {
		g.counter.Pause(g.config.Now())
	}
	g.state.Store(next)
	close(before.done)
	switch {
	case next.open && !before.open:
		g.config.Log.InfoContext(ctx, "gate open")
	case !next.open && (before.open || next.whole != before.whole):
		g.config.Log.InfoContext(ctx, "gate closed", "mode", next.whole.mode, "starting", next.whole.starting)
	}
}
