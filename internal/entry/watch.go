package entry

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/detourhq/detour/internal/agent"
	"github.com/detourhq/detour/pkg/cluster"
)

// enough is how many probes in a row fail before the node is in error: a single one
// says little. That nobody listens at all says it at once.
const enough = 3

// Watch asks the application how it is for as long as the node is not paused: then
// it may well say that it takes no traffic.
type Watch struct {
	Probe func(ctx context.Context) error // returns nil if all is well
	Every time.Duration

	paused atomic.Bool
}

// Obey takes note of what covers the node. An agent's OnChange may be it.
func (w *Watch) Obey(c agent.Cover) { w.paused.Store(c.Paused) }

// watch has the node report error while its application fails its probes, and
// Status again once it answers, until ctx ends.
func (e *Entry) watch(ctx context.Context) {
	select {
	case <-e.started:
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(e.Watch.Every)
	defer tick.Stop()
	for failed := 0; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if !e.Watch.paused.Load() {
			failed = e.examine(ctx, failed)
		}
	}
}

// examine asks the application once, after so many probes in a row that failed, and
// returns how many did by now.
func (e *Entry) examine(ctx context.Context, failed int) int {
	switch err := e.Watch.Probe(ctx); {
	case ctx.Err() != nil:
	case err == nil:
		if failed >= enough {
			e.Log.InfoContext(ctx, "application answers its probe again", "status", e.Status)
			e.report(ctx, e.Status, "")
		}
		return 0
	case failed < enough && (failed+1 == enough || errors.Is(err, syscall.ECONNREFUSED)):
		e.Log.WarnContext(ctx, "application fails its probe", "err", err)
		e.report(ctx, cluster.Faulty, err.Error())
		return enough
	case failed < enough:
		return failed + 1
	}
	return failed
}

// report has the node say its status. What the registry does not take now, the
// agent tells it later.
func (e *Entry) report(ctx context.Context, s cluster.Status, reason string) {
	limited, cancel := context.WithTimeout(ctx, e.AskTimeout)
	defer cancel()
	if err := e.Node.SetStatus(limited, s, reason); err != nil {
		e.Log.WarnContext(ctx, "status not published yet", "status", s, "err", err)
	}
}
