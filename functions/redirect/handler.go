package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/detourhq/detour/internal/albevent"
	"github.com/detourhq/detour/internal/config"
	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/redirect"
)

// source gives the newest snapshot, or the best that is left of it.
type source interface {
	Snapshot(ctx context.Context) (*cluster.Snapshot, cluster.Origin, error)
	Count(now cluster.Millis, names ...string)
}

// handler answers load balancer events. Every field but patience is required.
type handler struct {
	source   source
	redirect *redirect.Redirector
	patience patience
	wall     func() time.Time
	log      *slog.Logger
}

// newHandler wires the function from its environment. A faulty one is logged,
// and answered with 503: to end here would be a 502 for every request.
func newHandler(environment map[string]string, wall func() time.Time, log *slog.Logger) *handler {
	c, err := config.ReadRedirect(environment)
	h := &handler{redirect: redirect.New(c.Redirector(c.Liveness), globalRandom{}), wall: wall, log: log}
	if err == nil {
		h.patience = patience{Patience: c.Patience, budget: c.Timeout}
		h.source, h.patience.places, err = newSource(c, wall)
	}
	if err != nil {
		log.Error("configuration is faulty, answering 503 to everything", "err", err)
		h.source = faulty{}
	}
	return h
}

// Invoke answers one event. Its error is always nil, because ALB turns a
// function's error into a bare 502 (AWS, "Troubleshoot your Application Load
// Balancers").
func (h *handler) Invoke(ctx context.Context, payload []byte) (answer []byte, err error) {
	req, mode, err := albevent.Decode(payload)
	if err != nil {
		h.log.WarnContext(ctx, "event is no load balancer's, answering 400", "err", err)
		return albevent.Encode(badEvent, mode), nil
	}
	defer func() {
		if p := recover(); p != nil {
			h.log.ErrorContext(ctx, "decision panicked, answering 503", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			answer, err = albevent.Encode(h.redirect.Lost(&req, "panic").Answer, mode), nil
		}
	}()
	d := h.decide(ctx, &req)
	return albevent.Encode(d.Answer, mode), nil
}

func (h *handler) decide(ctx context.Context, req *redirect.Request) redirect.Decision {
	if _, broken := h.source.(faulty); !broken {
		if d, ok := h.redirect.Early(req); ok {
			return d
		}
	}
	s, from, err := h.source.Snapshot(ctx)
	if s == nil {
		h.log.ErrorContext(ctx, "no registry, answering 503", "err", err)
		return h.redirect.Lost(req, "no registry")
	}
	if err != nil {
		h.log.WarnContext(ctx, "no registry, deciding by the best that is left", "from", from, "err", err)
	}
	now, _ := s.Now(h.wall())
	d := h.redirect.Decide(req, s, now)
	if d.Hold && err == nil {
		d = h.wait(ctx, req, d, now)
	}
	if d.Outcome == redirect.Redirected {
		h.source.Count(now, string(d.Outcome), "origin:"+d.Origin, "node:"+d.Node.ID)
		return d
	}
	if d.Outcome != redirect.Health {
		h.source.Count(now, string(d.Outcome), "origin:"+d.Origin)
		h.log.WarnContext(ctx, "request was not redirected", "outcome", d.Outcome, "origin", d.Origin, "path", head(req.Path), "reason", d.Reason)
	}
	return d
}

// head is as much of a path as a log line needs.
func head(path string) string {
	const enough = 200
	return path[:min(len(path), enough)]
}

// badEvent answers what is not an event. No load balancer sends it.
var badEvent = redirect.Answer{
	Status: 400,
	Header: redirect.Header{{Name: "Content-Type", Value: "application/problem+json"}, {Name: "Cache-Control", Value: "no-store"}},
	Body:   `{"type":"about:blank","title":"Bad Request","status":400,"detail":"The event is not that of an Application Load Balancer."}`,
}

// globalRandom is the process's own generator, safe for concurrent use.
type globalRandom struct{}

func (globalRandom) Uint64() uint64 { return rand.Uint64() }
