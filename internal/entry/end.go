package entry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// errUnheard reports an end before the registry had ever answered.
var errUnheard = errors.New("told to end before the registry had answered")

// end carries out an order to end: the pause is published, what is under way and
// still arrives is served, the application is stopped, the node leaves.
func (e *Entry) end(ctx context.Context, s os.Signal) (code int, err error) {
	e.Log.InfoContext(ctx, "told to end", "signal", s)
	began := time.Now()
	registered := e.settle()
	if !registered && e.App == nil {
		return 1, errUnheard
	}
	drained := e.drain(ctx, "told to end ("+s.String()+")", registered)
	code = e.stop(ctx, began.Add(e.DrainTimeout+e.StopTimeout))
	if !registered {
		return code, nil
	}
	left := e.leave(ctx)
	if e.App != nil || errors.Is(drained, errHurry) {
		return code, nil
	}
	if err := errors.Join(drained, left); err != nil {
		return 1, fmt.Errorf("leave in order: %w", err)
	}
	return 0, nil
}

// settle stops what may still change the node's status, and reports whether the
// registry holds the node.
func (e *Entry) settle() bool {
	e.stopReady()
	e.stopStart()
	<-e.announced
	select {
	case <-e.started:
		return true
	case err := <-e.kept:
		e.kept <- err
		return false
	}
}

// lose says why the application ended, unless all is well, so that nobody is led to
// it meanwhile, and takes the node out. It returns the application's code.
func (e *Entry) lose(ctx context.Context) int {
	exit := e.App.Exit()
	e.Log.InfoContext(ctx, "application ended by itself", "how", exit.Reason)
	if !e.settle() {
		return exit.Code
	}
	if exit.Code != 0 {
		e.fail(ctx, exit.Reason)
	}
	_ = e.leave(ctx) // which logs it
	return exit.Code
}

// giveUp ends an application that did not become ready.
func (e *Entry) giveUp(ctx context.Context, why error) error {
	e.Log.ErrorContext(ctx, "application is not ready, stopping it", "err", why)
	registered := e.settle()
	if registered {
		e.fail(ctx, why.Error())
	}
	e.stop(ctx, time.Now().Add(e.StopTimeout))
	if registered {
		_ = e.leave(ctx) // which logs it
	}
	return why
}

// withdraw ends an application whose node the registry holds as a newer start: no
// pause of this one counts any more, but its clients are served while they come.
func (e *Entry) withdraw(ctx context.Context, why error) error {
	if e.App == nil {
		return why
	}
	e.Log.ErrorContext(ctx, "node is no longer ours, stopping the application", "err", why)
	e.stopReady()
	<-e.announced
	began := time.Now()
	_ = e.drain(ctx, "", false) // which logs it
	e.stop(ctx, began.Add(e.DrainTimeout+e.StopTimeout))
	return why
}

// fail reports that the node is in error.
func (e *Entry) fail(ctx context.Context, reason string) {
	limited, cancel := context.WithTimeout(ctx, e.AskTimeout)
	defer cancel()
	if err := e.Node.SetStatus(limited, cluster.Faulty, reason); err != nil {
		e.Log.WarnContext(ctx, "error not published", "reason", reason, "err", err)
	}
}

// leave takes the node out of the registry. A registry that does not answer in
// time will see it grow stale.
func (e *Entry) leave(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, e.AskTimeout)
	defer cancel()
	err := e.Node.Leave(limited)
	if err != nil {
		e.Log.WarnContext(ctx, "node not taken out of the registry, it will be stale", "err", err)
	}
	return err
}

// stop has the application end, if there is one, and kills what is left of its
// process group at last, or when told to hurry. It returns the application's code.
func (e *Entry) stop(ctx context.Context, last time.Time) int {
	if e.App == nil {
		return 0
	}
	limited, cancel := context.WithDeadline(ctx, last)
	defer cancel()
	select {
	case <-e.App.Ended(): // while it was waited for
	default:
		if err := e.App.signal(syscall.SIGTERM); err != nil {
			e.Log.WarnContext(ctx, "application not told to end", "err", err)
		}
	}
	hurried := e.untilHurried(limited)
	if hurried == nil {
		exit := e.App.Exit()
		e.Log.InfoContext(ctx, "application ended", "how", exit.Reason)
		return exit.Code
	}
	e.Log.WarnContext(ctx, "killing the application", "why", hurried)
	if err := e.App.kill(); err != nil {
		e.Log.WarnContext(ctx, "application not killed", "err", err)
	}
	select {
	case <-e.App.Ended():
		return e.App.Exit().Code
	case <-time.After(killLimit):
		return 128 + int(syscall.SIGKILL)
	}
}

var errHurry = errors.New("told to hurry")

// untilHurried returns nil when the application has ended, else why it is waited
// for no longer: ctx ended, or another order to end came. Other signals are handed
// on meanwhile.
func (e *Entry) untilHurried(ctx context.Context) error {
	for {
		select {
		case <-e.appEnded():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case s := <-e.Signals:
			if isOrder(s) {
				return fmt.Errorf("%w (%s)", errHurry, s)
			}
			e.handOn(s)
		}
	}
}
