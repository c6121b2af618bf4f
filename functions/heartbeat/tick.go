package main

import (
	"context"
	"time"

	"github.com/detourhq/detour/internal/metrics"
)

const (
	// oldest is the age at which a tick is dropped: the next one is due.
	oldest = 50 * time.Second
	// margin is what is left of the function's time when the last sweep begins.
	margin = 5 * time.Second
	// reserve is what is left when the last sweep ends, whatever it was at.
	reserve = 2 * time.Second
)

// ticked says what one tick did.
type ticked struct {
	Sweeps  int  `json:"sweeps"`
	Pruned  int  `json:"pruned"`
	Errors  int  `json:"errors"`
	Dropped bool `json:"dropped,omitempty"` // it was too old
}

// tick sweeps every so often until shortly before the function's deadline: a
// schedule is never finer than a minute. A sweep that takes longer than that is
// followed by the next one at once.
func (h *handler) tick(ctx context.Context, due time.Time) ticked {
	age := h.age(ctx, due)
	if age > oldest {
		h.log.WarnContext(ctx, "tick is too old, dropped", "due", due)
		return ticked{Dropped: true}
	}
	sweeping, cancel := ctx, context.CancelFunc(func() {})
	if deadline, ok := ctx.Deadline(); ok {
		sweeping, cancel = context.WithDeadline(ctx, deadline.Add(-reserve))
	}
	defer cancel()
	var t ticked
	for {
		next := h.wall().Add(h.every)
		h.sweep(sweeping, &t)
		if !h.pause(ctx, next) {
			break
		}
	}
	h.measure(ctx, age, t)
	return t
}

// age is how long ago a tick was due, by the registry's clock: this machine's own
// must not keep a sweep from being made. It is 0 for a tick that does not say,
// or while the registry does not.
func (h *handler) age(ctx context.Context, due time.Time) time.Duration {
	if due.IsZero() {
		return 0
	}
	now, err := h.runner.Registry.Time(ctx)
	if err != nil {
		return 0
	}
	return max(now.Time().Sub(due), 0)
}

func (h *handler) sweep(ctx context.Context, t *ticked) {
	t.Sweeps++
	result, err := h.runner.Sweeper.Sweep(ctx)
	if err != nil {
		t.Errors++
		h.log.ErrorContext(ctx, "sweep ended early", "err", err)
	}
	t.Pruned += len(result.PrunedIDs)
}

// pause waits until the next sweep is due; false means that there is no time for one.
func (h *handler) pause(ctx context.Context, next time.Time) bool {
	wait := max(next.Sub(h.wall()), 0)
	deadline, ok := ctx.Deadline()
	if !ok || deadline.Sub(h.wall()) < wait+margin {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (h *handler) measure(ctx context.Context, age time.Duration, t ticked) {
	values := map[string]float64{
		"TickAge":        float64(age.Milliseconds()),
		"Pruned":         float64(t.Pruned),
		"RegistryErrors": float64(t.Errors),
	}
	if h.outside != nil {
		values["RulesContested"] = float64(h.outside.stuck)
		values["AwsUnreachable"] = float64(h.outside.unreachable)
		h.outside.stuck, h.outside.unreachable = 0, 0 // told once
	}
	err := metrics.Write(h.metrics, h.wall(), map[string]string{"Cluster": h.runner.Cluster}, values)
	if err != nil {
		h.log.ErrorContext(ctx, "metrics were not written", "err", err)
	}
}
