package entry

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var errUnpublished = errors.New("pause not published")

// drain publishes the pause, where the registry holds the node, and waits until
// nothing arrives any more, but not past DrainTimeout, another order to end, or the
// application's own end. A pause that could not be published is no reason not to
// wait: who knows of this node from elsewhere comes nevertheless.
func (e *Entry) drain(ctx context.Context, reason string, registered bool) error {
	if e.Gate != nil {
		e.Gate.end()
	}
	ctx, cancel := context.WithTimeout(ctx, e.DrainTimeout)
	defer cancel()
	done, cut := make(chan error, 1), make(chan error, 1)
	watching, stopWatching := context.WithCancel(ctx)
	go func() {
		cut <- e.untilHurried(watching)
		cancel()
	}()
	go func() { done <- e.pauseAndWait(ctx, reason, registered) }()
	err := <-done
	stopWatching()
	if why := <-cut; errors.Is(why, errHurry) {
		err = errors.Join(err, why)
	}
	if err != nil {
		e.Log.WarnContext(ctx, "node is not known to be quiet", "err", err)
	} else {
		e.Log.InfoContext(ctx, "node is quiet")
	}
	return err
}

func (e *Entry) pauseAndWait(ctx context.Context, reason string, registered bool) error {
	var unpublished error
	if registered {
		publishing, cancel := context.WithTimeout(ctx, publishLimit)
		defer cancel()
		if err := e.Node.Pause(publishing, reason); err != nil {
			unpublished = fmt.Errorf("%w: %w", errUnpublished, err)
		}
	}
	return errors.Join(unpublished, e.quiet(ctx))
}

// quiet returns once nothing arrives any more, as far as that can be known.
func (e *Entry) quiet(ctx context.Context) error {
	if e.Gate != nil {
		return e.Gate.silence(ctx, e.Silence, e.Grace)
	}
	timer := time.NewTimer(e.Grace)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("grace of %s cut short: %w", e.Grace, ctx.Err())
	}
}
