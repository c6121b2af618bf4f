package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/internal/shop"
	"github.com/detourhq/detour/internal/wait"
	"github.com/detourhq/detour/pkg/cluster"
)

// deploy brings new versions to all nodes, one node after the other, round by round.
// It ends with the first error.
func (w *shopWorld) deploy(ctx context.Context) error {
	w.phase("steady traffic")
	if err := rest(ctx, w.config.pace.steady); err != nil {
		return err
	}
	for range w.config.Rounds {
		for _, n := range w.nodes {
			if err := w.renew(ctx, n); err != nil {
				return err
			}
			w.phase("steady traffic")
			if err := rest(ctx, w.config.pace.steady); err != nil {
				return err
			}
		}
	}
	return nil
}

// renew pauses n, waits as detour pause --wait does until nobody is left there, and
// brings it back as its next version, with an empty memory.
func (w *shopWorld) renew(ctx context.Context, n *shop.Node) error {
	w.phase("pausing " + n.ID)
	began := time.Now().Truncate(time.Millisecond) // the registry counts in milliseconds
	switch {
	case w.config.Mode == cluster.Redirect:
		w.tally.Release(n.Life(), began)
	case w.config.Deadline > 0:
		w.tally.Release(n.Life(), began.Add(w.config.Deadline))
	}
	pause, err := w.pause(ctx, n)
	if err != nil {
		return err
	}
	if err := w.awaitSeen(ctx, n, pause.Epoch); err != nil {
		return err
	}
	w.tally.Close(n.Life())
	held := n.Sessions()
	w.phase("draining " + n.ID)
	if err := w.awaitQuiet(ctx, n, pause); err != nil {
		return err
	}
	w.tally.Deployed(held, n.Sessions())
	w.phase("deploying " + n.ID)
	if err := n.Stop(ctx); err != nil {
		return err
	}
	if err := rest(ctx, w.config.pace.down); err != nil {
		return err
	}
	if err := n.Start(ctx, n.Version()+1); err != nil {
		return err
	}
	return w.resume(ctx, n)
}

func (w *shopWorld) pause(ctx context.Context, n *shop.Node) (*command.Paused, error) {
	answer, err := w.runner.Run(ctx, command.Command{
		Verb: "pause", Target: cluster.NodeTarget(n.ID).String(), Mode: string(w.config.Mode),
		DeadlineMS: w.config.Deadline.Milliseconds(), By: "demo", Reason: fmt.Sprintf("version %d", n.Version()+1),
	})
	if err != nil {
		return nil, fmt.Errorf("pause %s: %w", n.ID, err)
	}
	return answer.(*command.Paused), nil
}

func (w *shopWorld) resume(ctx context.Context, n *shop.Node) error {
	w.phase("resuming " + n.ID)
	if _, err := w.runner.Run(ctx, command.Command{Verb: "resume", Target: cluster.NodeTarget(n.ID).String(), By: "demo"}); err != nil {
		return fmt.Errorf("resume %s: %w", n.ID, err)
	}
	return w.awaitHealthy(ctx, n)
}

// look returns what the registry shows of n to whoever waits for its pause.
func (w *shopWorld) look(ctx context.Context, n *shop.Node) (*command.Look, error) {
	answer, err := w.runner.Run(ctx, command.Command{Verb: "wait", Target: cluster.NodeTarget(n.ID).String()})
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", n.ID, err)
	}
	return answer.(*command.Look), nil
}

// awaitSeen waits until n acts on the pause of that epoch.
func (w *shopWorld) awaitSeen(ctx context.Context, n *shop.Node, epoch int64) error {
	return await(ctx, w.config.pace.limit, n.ID+" did not obey its pause", func() string {
		l, err := w.look(ctx, n)
		if err != nil {
			return err.Error()
		}
		for _, seen := range l.Nodes {
			if seen.Figures != nil && seen.Figures.SeenEpoch >= epoch {
				return ""
			}
		}
		return "it has not seen it"
	})
}

// awaitQuiet waits until n has no session that may stay, nothing is in flight there,
// and nothing arrives any more.
func (w *shopWorld) awaitQuiet(ctx context.Context, n *shop.Node, p *command.Paused) error {
	r := wait.Run(ctx, func(ctx context.Context) (*command.Look, error) { return w.look(ctx, n) },
		wait.Options{Pause: *p, Quiet: w.config.pace.quiet, Timeout: w.config.pace.limit})
	switch r.State {
	case wait.Done:
		return nil
	case wait.Interrupted:
		return ctx.Err()
	}
	left := r.Left()
	if r.Why != "" {
		left = append(left, r.Why)
	}
	return fmt.Errorf("%s did not drain within %v: %s: %s", n.ID, w.config.pace.limit, r.State, strings.Join(left, ", "))
}
