package awsevents

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/detourhq/detour/pkg/cluster"
)

// settled is what became of a plan's pauses.
type settled struct {
	paused, resumed []string // targets
	overtaken       bool     // somebody else changed a pause meanwhile
}

// settle makes the pauses as p wants them.
func (h *Handler) settle(ctx context.Context, p *plan) (settled, error) {
	var s settled
	byText := func(a, b cluster.Target) int { return cmp.Compare(a.String(), b.String()) }
	for _, t := range slices.SortedFunc(maps.Keys(p.ours), byText) {
		err := h.settleOne(ctx, p, t, &s)
		if errors.Is(err, cluster.ErrConflict) {
			s.overtaken = true
			continue
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

func (h *Handler) settleOne(ctx context.Context, p *plan, t cluster.Target, s *settled) error {
	actual, stands := p.snap.Pauses[t]
	if stands && !isOurs(actual) && actual.Covers(p.now) {
		return nil // what others ask for stays
	}
	it := p.wanted[t]
	if it == nil {
		if !stands || !isOurs(actual) {
			return nil
		}
		_, err := h.registry.SwapPause(ctx, t, actual.Epoch, nil, actual.By, "what it was for is over")
		if err == nil {
			s.resumed = append(s.resumed, t.String())
			p.noteEpoch(t, 0)
		}
		return err
	}
	want := it.pause(p.config, p.now)
	if stands && actual.Covers(p.now) {
		want.Since, want.Epoch = actual.Since, actual.Epoch
		if want == actual {
			p.noteEpoch(t, actual.Epoch)
			return nil
		}
	}
	epoch, err := h.registry.SwapPause(ctx, t, actual.Epoch, &want, want.By, want.Reason)
	if err == nil {
		s.paused = append(s.paused, t.String())
		p.noteEpoch(t, epoch)
	}
	return err
}

// noteEpoch notes on all work about t which of our pauses stands there.
func (p *plan) noteEpoch(t cluster.Target, epoch int64) {
	for _, it := range p.items {
		if it.Over == 0 && slices.Contains(it.Targets, t.String()) {
			it.Paused = epoch
			if !p.asks(it) {
				it.Paused = 0
			}
		}
	}
}

// store writes back the work that has changed. What somebody else has changed
// meanwhile is left to the next sweep. l is the sweep's, nil for none.
func (h *Handler) store(ctx context.Context, p *plan, l *cluster.Lease) error {
	for _, it := range p.items {
		if err := h.storeOne(ctx, it, l); err != nil && !errors.Is(err, cluster.ErrConflict) {
			return err
		}
	}
	return nil
}

func (h *Handler) storeOne(ctx context.Context, it *item, l *cluster.Lease) error {
	body, err := it.encode()
	if err != nil || body == it.body {
		return err
	}
	if err := h.registry.SwapWork(ctx, l, it.name, it.body, body); err != nil {
		return err
	}
	it.body = body
	return nil
}
