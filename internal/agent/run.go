package agent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

const (
	lookEvery    = time.Second            // a pause is obeyed within this
	figuresEvery = 500 * time.Millisecond // figures are written so often while somebody may wait for them
)

// Run keeps the node in the registry until ctx ends or the node has left: then it
// returns nil, and leaves the node as it is. It returns an error that wraps
// [cluster.ErrSuperseded] when a newer start has the node's id. A registry that
// does not answer, or has lost the node, is no reason to end.
func (a *Agent) Run(ctx context.Context) error {
	pulses := time.NewTicker(a.config.PulseEvery)
	defer pulses.Stop()
	every := lookEvery
	looks := time.NewTicker(every)
	defer looks.Stop()
	for pulse := true; ; {
		switch err := a.exchange(ctx, pulse); {
		case errors.Is(err, cluster.ErrSuperseded), errors.Is(err, errNotStarted):
			return fmt.Errorf("run agent of node %s: %w", a.node.ID, err)
		case errors.Is(err, cluster.ErrLeft), ctx.Err() != nil:
			return nil
		}
		a.obey(ctx)
		if next := a.rhythm(); next != every {
			every = next
			looks.Reset(every)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-a.gone:
			return nil
		case <-a.wake:
			a.obey(ctx)
			pulse = true
		case <-pulses.C:
			pulse = true
		case <-looks.C:
			pulse = a.awaited() || a.outage()
		}
	}
}

// rhythm returns the interval between two looks at the registry.
func (a *Agent) rhythm() time.Duration {
	if a.awaited() {
		return figuresEvery
	}
	return lookEvery
}

// exchange tells the registry what it does not know of the node, pulse or not,
// and learns what the node does not know. An error leaves the rest to the next
// exchange.
func (a *Agent) exchange(ctx context.Context, pulse bool) error {
	if err := a.tell(ctx); err != nil {
		return err
	}
	epoch, err := a.sign(ctx, pulse)
	if errors.Is(err, cluster.ErrUnknown) {
		a.untold()
		return a.tell(ctx) // registers, which counts as a pulse
	}
	if err != nil || !a.moved(epoch) {
		return err
	}
	if a.snapshot, err = a.renew(ctx); err != nil {
		return err
	}
	a.obey(ctx)
	if a.awaited() {
		_, err = a.sign(ctx, true) // that the node obeys
	}
	return err
}

// sign pulses, or only looks, and returns the epoch.
func (a *Agent) sign(ctx context.Context, pulse bool) (epoch int64, err error) {
	err = a.ask(ctx, func(ctx context.Context) (err error) {
		if pulse {
			epoch, err = a.registry.Pulse(ctx, a.node.ID, a.node.Generation, a.figures())
		} else {
			epoch, err = a.registry.Epoch(ctx, cluster.Counts{})
		}
		return err
	})
	return epoch, err
}

func (a *Agent) figures() *cluster.Figures {
	if a.config.Figures == nil {
		return nil
	}
	f := a.config.Figures()
	f.Load = finite(f.Load)
	var seen int64
	if a.snapshot != nil {
		seen = a.snapshot.Epoch
	}
	if f.SeenEpoch == 0 || f.SeenEpoch > seen {
		f.SeenEpoch = seen
	}
	return &f
}

// finite returns the nearest number that JSON can hold, 0 for not-a-number: a
// load of 0/0 must not cost the node its pulse.
func finite(load float64) float64 {
	if math.IsNaN(load) {
		return 0
	}
	return max(min(load, math.MaxFloat64), -math.MaxFloat64)
}

// moved reports whether the last snapshot no longer tells what is: the epoch is
// another one, lower or missing too, or a pause seems to have ended by time,
// which the registry's clock must confirm.
func (a *Agent) moved(epoch int64) bool {
	return a.snapshot == nil || epoch != a.snapshot.Epoch || a.coverNow() != a.cover
}

// renew reads a new snapshot. If it does not hold the node as the node is, a
// registry was lost or an older state of it restored: the node's word is told
// again, and so are the pauses that were lost with it. On error the last snapshot is returned with it.
func (a *Agent) renew(ctx context.Context) (*cluster.Snapshot, error) {
	s, err := a.read(ctx)
	if err != nil {
		return a.snapshot, err
	}
	written, err := a.reassert(ctx, s)
	if err != nil {
		return a.snapshot, err
	}
	if written {
		if s, err = a.read(ctx); err != nil {
			return a.snapshot, err
		}
	}
	w, told, err := a.word()
	if err != nil || !told {
		return s, err
	}
	n, ok := s.Node(a.node.ID)
	if ok && n.Generation == a.node.Generation && n.Report.Status == w.status && n.Report.Reason == w.reason {
		return s, nil
	}
	a.untold()
	return s, a.tell(ctx)
}
