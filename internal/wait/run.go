package wait

import (
	"context"
	"errors"
	"time"

	"github.com/detourhq/detour/internal/command"
)

const (
	lookEvery = time.Second
	lookLimit = 10 * time.Second // of one look: a registry may hang
)

// Options say what is waited for.
type Options struct {
	Pause   command.Paused // as it was answered
	Quiet   time.Duration  // how long nothing may arrive at a node, at least
	Timeout time.Duration  // of the wait as a whole
	Show    func(Result)   // is told how the wait stands after each look, and at its end
}

// Run takes one look each second until one shows that the pause has taken hold,
// that it was overtaken, or that nothing can be proved; until Timeout, or until ctx
// ends. A look that fails proves nothing, and is taken again, unless its error wraps
// [ErrFinal].
func Run(ctx context.Context, look func(context.Context) (*command.Look, error), o Options) Result {
	began := time.Now()
	waiting, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	j := newJudge(o.Pause, o.Quiet)
	r := Result{State: Waiting, Nodes: []Node{}}
	for r.State == Waiting {
		l, err := glance(waiting, look)
		switch {
		case err == nil:
			r = j.take(l)
		case errors.Is(err, ErrFinal):
			r.State, r.Why = Unproven, err.Error()
		case waiting.Err() == nil: // else it was cut off from here
			j.fail()
			r.Why = "look at the registry: " + err.Error()
		}
		if r.State == Waiting {
			o.show(&r, began)
			r.State = rest(ctx, waiting, ticks.C)
		}
	}
	o.show(&r, began)
	return r
}

func (o *Options) show(r *Result, began time.Time) {
	r.WaitedMS = time.Since(began).Milliseconds()
	if o.Show != nil {
		o.Show(*r)
	}
}

func glance(ctx context.Context, look func(context.Context) (*command.Look, error)) (*command.Look, error) {
	limited, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	return look(limited)
}

// rest returns when the next look is due, or with what ends the wait.
func rest(ctx, waiting context.Context, tick <-chan time.Time) State {
	select {
	case <-tick:
	case <-waiting.Done():
	}
	switch {
	case ctx.Err() != nil:
		return Interrupted
	case waiting.Err() != nil:
		return TimedOut
	}
	return Waiting
}
