package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// The wait between two tries doubles from the first to the last.
const (
	firstWait = 100 * time.Millisecond
	lastWait  = 2 * time.Second
)

// persist calls f until it succeeds, the registry's answer is final, or ctx
// ends; the error then wraps ctx's and f's last one.
func (a *Agent) persist(ctx context.Context, f func(context.Context) error) error {
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		err := f(ctx)
		if err == nil || final(err) {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w, at last: %w", ctx.Err(), err)
		}
	}
}

// final reports whether asking again cannot bring another answer.
func final(err error) bool {
	return errors.Is(err, cluster.ErrSuperseded) || errors.Is(err, cluster.ErrLeft) ||
		errors.Is(err, cluster.ErrInvalid) || errors.Is(err, errNotStarted)
}

// gone reports whether err says that the registry does not hold this life of the
// node: an answer like any other.
func gone(err error) bool {
	return errors.Is(err, cluster.ErrUnknown) || errors.Is(err, cluster.ErrLeft) || errors.Is(err, cluster.ErrSuperseded)
}

// ask makes one call to the registry in the time that one may take.
func (a *Agent) ask(ctx context.Context, call func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, a.config.Timeout)
	defer cancel()
	err := call(limited)
	if ctx.Err() == nil { // else it was cut off from here
		a.note(ctx, err)
	}
	return err
}

// note logs the beginning and the end of an outage, and nothing in between.
func (a *Agent) note(ctx context.Context, err error) {
	answered := err == nil || gone(err)
	a.mu.Lock()
	since := a.lost
	switch {
	case answered:
		a.lost = time.Time{}
	case since.IsZero():
		a.lost = time.Now()
	}
	a.mu.Unlock()
	switch {
	case answered && !since.IsZero():
		a.log.InfoContext(ctx, "registry answers again", "after", time.Since(since))
	case !answered && since.IsZero():
		a.log.WarnContext(ctx, "registry fails, asking on", "err", err)
	}
}

func (a *Agent) outage() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.lost.IsZero()
}

// read returns a new snapshot.
func (a *Agent) read(ctx context.Context) (s *cluster.Snapshot, err error) {
	err = a.ask(ctx, func(ctx context.Context) (err error) {
		s, err = a.registry.Snapshot(ctx, time.Now)
		return err
	})
	return s, err
}
