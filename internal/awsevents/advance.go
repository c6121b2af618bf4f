package awsevents

import (
	"context"
	"errors"
	"fmt"

	"github.com/detourhq/detour/pkg/cluster"
)

// Result is what one pass over the work found and did.
type Result struct {
	Pending   int      `json:"pending"`             // pieces of work that are not over
	Paused    []string `json:"paused,omitempty"`    // targets
	Resumed   []string `json:"resumed,omitempty"`   // targets
	Completed []string `json:"completed,omitempty"` // names of work that AWS was answered about
	GaveUp    []string `json:"gave_up,omitempty"`   // names of work whose answer AWS kept refusing

	Unreachable int `json:"unreachable"` // calls of AWS that got no answer, only that it was too busy, or that it may not be asked
	Broken      int `json:"broken"`      // pieces of work that could not be read
}

// Advance takes all work as far as it goes, on snap, which was read by the sweep
// that holds l. The registry's part comes first; it goes on without AWS. An error
// is the registry's ([cluster.ErrFenced] if another sweeper has taken over): the
// next sweep does the rest. Calls of AWS take at most 2 s each; a service that
// does not answer is asked once.
func (h *Handler) Advance(ctx context.Context, snap *cluster.Snapshot, l cluster.Lease) (Result, error) {
	var r Result
	p, err := h.plan(ctx, snap)
	if err != nil {
		return r, fmt.Errorf("advance work: %w", err)
	}
	if r.Broken = len(p.broken); r.Broken > 0 {
		h.log.WarnContext(ctx, "work cannot be read", "names", p.broken[:min(r.Broken, 3)], "of", r.Broken)
	}
	done, err := h.settle(ctx, p)
	r.Paused, r.Resumed = done.paused, done.resumed
	if err == nil {
		err = h.finish(ctx, p, l, &r)
	}
	if err == nil {
		err = h.answer(ctx, p, l, &r)
	}
	if err != nil {
		return r, fmt.Errorf("advance work: %w", err)
	}
	return r, nil
}

// finish stores what the plan found, ends what is over and removes what need not
// be kept.
func (h *Handler) finish(ctx context.Context, p *plan, l cluster.Lease, r *Result) error {
	kept := p.items[:0]
	for _, it := range p.items {
		if it.ends && it.Over == 0 {
			it.Over = p.now
		}
		if !it.forgotten(p.config, p.now) {
			kept = append(kept, it)
			continue
		}
		err := h.registry.SwapWork(ctx, &l, it.name, it.body, "")
		if err != nil && !errors.Is(err, cluster.ErrConflict) {
			return err
		}
	}
	p.items = kept
	for _, it := range p.items {
		if it.Over == 0 {
			r.Pending++
		}
	}
	return h.store(ctx, p, &l)
}
