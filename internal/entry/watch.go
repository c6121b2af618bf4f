package entry

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/detourhq/detour/internal/agent"
	"github.com/detourhq/detour/pkg/cluster"
)

// enough is how many probes in a row fail before the node is in error: a single one
// says little. That nobody listens at all says it at once.
const enough = 3

// crowdEvery is how often what is in flight is looked at.
const crowdEvery = 250 * time.Millisecond

// Watch has the node say how its application is, for as long as the node is not
// paused: then it may well say that it takes no traffic.
type Watch struct {
	Probe func(ctx context.Context) error // returns nil if all is well; nil asks nobody
	Every time.Duration                   // between two probes
	Most  int64                           // with so many requests in flight the node is overloaded; zero means never

	paused atomic.Bool
}

// Obey takes note of what covers the node. An agent's OnChange may be it.
func (w *Watch) Obey(c agent.Cover) { w.paused.Store(c.Paused) }

// condition is how an application is.
type condition struct {
	failed  int   // probes in a row
	cause   error // of the first that counted
	crowded bool
	load    int64 // in flight
}

// word returns what a node says of it whose status is else usual.
func (c condition) word(usual cluster.Status) (cluster.Status, string) {
	switch {
	case c.failed >= enough:
		return cluster.Faulty, c.cause.Error()
	case c.crowded:
		return cluster.Overloaded, "requests in flight: " + strconv.FormatInt(c.load, 10)
	}
	return usual, ""
}

// watch has the node report error while its application fails its probes, overloaded
// while too much is in flight, and else Status, until ctx ends.
func (e *Entry) watch(ctx context.Context) {
	select {
	case <-e.started:
	case <-ctx.Done():
		return
	}
	probes, looks := tick(e.Watch.Probe != nil, e.Watch.Every), tick(e.Watch.Most > 0 && e.Gate != nil, crowdEvery)
	defer probes.Stop()
	defer looks.Stop()
	said := e.Status
	for c := (condition{}); ; {
		select {
		case <-ctx.Done():
			return
		case <-probes.C:
			if !e.Watch.paused.Load() {
				c = e.examine(ctx, c)
			}
		case <-looks.C:
			c = e.count(c)
		}
		status, reason := c.word(e.Status)
		if status == said || e.Watch.paused.Load() || ctx.Err() != nil {
			continue
		}
		e.Log.InfoContext(ctx, "application's condition changed", "status", status, "reason", reason)
		e.report(ctx, status, reason)
		said = status
	}
}

// tick returns a ticker that ticks only if it is wanted.
func tick(wanted bool, every time.Duration) *time.Ticker {
	if wanted {
		return time.NewTicker(every)
	}
	never := time.NewTicker(time.Hour)
	never.Stop()
	return never
}

// examine asks the application once. One that was in error is well as soon as it
// answers.
func (e *Entry) examine(ctx context.Context, c condition) condition {
	err := e.Watch.Probe(ctx)
	switch {
	case ctx.Err() != nil, c.failed >= enough && err != nil:
	case err == nil:
		c.failed = 0
	default:
		c.failed++
		if errors.Is(err, syscall.ECONNREFUSED) {
			c.failed = enough
		}
		c.cause = err
	}
	return c
}

// count looks at what is in flight. A node that was overloaded is so until a tenth of
// what is too much has gone: else it would say one thing and the other all the time.
func (e *Entry) count(c condition) condition {
	c.load = e.Gate.Figures().InFlight
	limit := e.Watch.Most
	if c.crowded {
		limit -= limit / 10
	}
	c.crowded = c.load >= limit
	return c
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
