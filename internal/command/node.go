package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/detourhq/detour/pkg/cluster"
)

// Registered says how a node stands in the registry.
type Registered struct {
	ID         string             `json:"id"`
	Generation cluster.Generation `json:"generation"`
	Epoch      int64              `json:"epoch"`
}

func (r *Runner) register(ctx context.Context, c Command) (any, error) {
	if c.Node == nil {
		return nil, fmt.Errorf("%w: register names no node", ErrUsage)
	}
	status := c.Status
	if status == "" {
		status = cluster.Active
	}
	d, epoch, err := r.Registry.Register(ctx, *c.Node, cluster.Report{Status: status})
	if err != nil {
		return nil, err
	}
	if c.Load != nil {
		if _, err := r.Registry.Pulse(ctx, d.ID, d.Generation, &cluster.Figures{Load: *c.Load}); err != nil {
			return nil, err
		}
	}
	return &Registered{ID: d.ID, Generation: d.Generation, Epoch: epoch}, nil
}

// Left says what a leave did.
type Left struct {
	ID            string `json:"id"`
	WasRegistered bool   `json:"was_registered"`
	Epoch         int64  `json:"epoch,omitempty"`
}

// leave removes the generation that is registered now, whichever it is.
func (r *Runner) leave(ctx context.Context, c Command) (any, error) {
	if err := cluster.CheckID(c.ID); err != nil {
		return nil, err
	}
	s, err := r.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	n, ok := s.Node(c.ID)
	if !ok {
		return &Left{ID: c.ID}, nil
	}
	epoch, err := r.Registry.Leave(ctx, n.ID, n.Generation)
	if errors.Is(err, cluster.ErrUnknown) {
		return &Left{ID: c.ID}, nil
	}
	if err != nil {
		return nil, err
	}
	return &Left{ID: c.ID, WasRegistered: true, Epoch: epoch}, nil
}
