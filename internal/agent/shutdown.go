package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// Leave takes the node out of the registry for good; Run then ends. A registry
// that does not answer is asked again until ctx ends. A node that the registry
// does not hold, or holds as a newer start, has left already.
func (a *Agent) Leave(ctx context.Context) error {
	if err := a.persist(ctx, a.leave); err != nil {
		return fmt.Errorf("leave of node %s: %w", a.node.ID, err)
	}
	return nil
}

func (a *Agent) leave(ctx context.Context) error {
	if err := a.takeTurn(ctx); err != nil {
		return err
	}
	defer a.endTurn()
	if _, _, err := a.word(); err != nil {
		if errors.Is(err, cluster.ErrLeft) {
			return nil
		}
		return err
	}
	err := a.ask(ctx, func(ctx context.Context) error {
		_, err := a.registry.Leave(ctx, a.node.ID, a.node.Generation)
		return err
	})
	if err != nil && !gone(err) {
		return err
	}
	a.mu.Lock()
	a.left = true
	a.mu.Unlock()
	close(a.gone)
	a.log.InfoContext(ctx, "node left")
	return nil
}

// Shutdown pauses the node, waits until nothing arrives at it any more, and
// leaves; Run pulses until then. reason is for people, a signal's name for
// example. If the registry has not acknowledged the pause when ctx ends,
// Shutdown gives up and says so: new traffic may still be sent to the node. The
// wait ends one registry call before ctx does, so that the node can leave; that
// the wait was cut short comes back as an error too.
func (a *Agent) Shutdown(ctx context.Context, reason string) error {
	if err := a.Pause(ctx, reason); err != nil {
		return fmt.Errorf("shut down: %w", err)
	}
	return errors.Join(a.quiet(ctx), a.Leave(ctx))
}

func (a *Agent) quiet(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-a.config.Timeout))
		defer cancel()
	}
	wait := a.config.Quiet
	if wait == nil {
		wait = a.grace
	}
	if err := wait(ctx); err != nil {
		return fmt.Errorf("wait until node %s is quiet: %w", a.node.ID, err)
	}
	return nil
}

func (a *Agent) grace(ctx context.Context) error {
	timer := time.NewTimer(a.config.Grace)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
