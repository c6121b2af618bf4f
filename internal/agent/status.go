package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/detourhq/detour/pkg/cluster"
)

// Pause reports the node paused: once it returns nil, the registry offers it to
// nobody. reason is for people. A registry that does not answer is asked again
// until ctx ends. The pause stands from the call on, an error only says that
// the registry is not known to have it yet: Run goes on telling it, and again
// after the registry was lost. It dies with this life of the node.
// [cluster.ErrSuperseded] and [cluster.ErrLeft] come back at once.
func (a *Agent) Pause(ctx context.Context, reason string) error {
	return a.SetStatus(ctx, cluster.Paused, reason)
}

// Resume reports the node active, as [Agent.Pause] reports it paused. It lifts
// no pause that others have put on the node or its group.
func (a *Agent) Resume(ctx context.Context) error {
	return a.SetStatus(ctx, cluster.Active, "")
}

// SetStatus reports the node's status, as [Agent.Pause] reports paused. Of calls
// at the same time the last one stands.
func (a *Agent) SetStatus(ctx context.Context, s cluster.Status, reason string) error {
	if err := a.say(word{s, reason}); err != nil {
		return err
	}
	select {
	case a.wake <- struct{}{}:
	default: // it will be awake anyway
	}
	if err := a.persist(ctx, a.tell); err != nil {
		return fmt.Errorf("report node %s %s: %w", a.node.ID, s, err)
	}
	return nil
}

// say makes w what the node says of itself, whoever asks.
func (a *Agent) say(w word) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.started {
		return errNotStarted
	}
	a.wish, a.told = w, false
	return nil
}

// tell makes sure that the registry holds the node's word, and the node itself.
func (a *Agent) tell(ctx context.Context) error {
	if err := a.takeTurn(ctx); err != nil {
		return err
	}
	defer a.endTurn()
	w, told, err := a.word()
	if told || err != nil {
		return err
	}
	rep := w.report(a.node.Generation)
	err = a.ask(ctx, func(ctx context.Context) error {
		_, err := a.registry.Report(ctx, a.node.ID, rep)
		return err
	})
	if errors.Is(err, cluster.ErrUnknown) {
		a.log.WarnContext(ctx, "registry does not know this node, registering it again", "status", w.status)
		err = a.ask(ctx, func(ctx context.Context) error {
			_, _, err := a.registry.Register(ctx, a.node, rep)
			return err
		})
	}
	if err == nil {
		a.wasTold(w)
	}
	return err
}

// takeTurn waits until nobody else writes to the registry what the node is.
func (a *Agent) takeTurn(ctx context.Context) error {
	select {
	case a.telling <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *Agent) endTurn() { <-a.telling }

// word returns what the node says of itself and whether the registry has it.
func (a *Agent) word() (w word, told bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case !a.started:
		return word{}, false, errNotStarted
	case a.left:
		return word{}, false, cluster.ErrLeft
	}
	return a.wish, a.told, nil
}

func (a *Agent) wasTold(w word) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told = a.wish == w
}

// untold has the word told again.
func (a *Agent) untold() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told = false
}
