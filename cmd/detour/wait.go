package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/internal/wait"
)

// Ends of a wait that have exit codes of their own.
var (
	errTimedOut  = errors.New("timed out")
	errOvertaken = errors.New("overtaken")
)

// waitFlags say whether and how long a pause waits until it has taken hold.
type waitFlags struct {
	wait           bool
	quiet, timeout time.Duration
}

func (w *waitFlags) add(f *pflag.FlagSet) {
	f.BoolVar(&w.wait, "wait", false, "return once nothing is under way at the nodes, and nothing arrives any more (on hold: is let in)")
	f.DurationVar(&w.quiet, "quiet", 2*time.Second, "with --wait, but for --mode hold: for how long nothing may arrive; 5 times the mean gap between requests, at most 30s, if that is longer")
	f.DurationVar(&w.timeout, "timeout", 10*time.Minute, "with --wait: end with 3 after this long")
}

// check wants of the flags that were given that they can be meant.
func (w *waitFlags) check(f *pflag.FlagSet) error {
	switch {
	case !w.wait && (f.Changed("quiet") || f.Changed("timeout")):
		return fmt.Errorf("%w: --quiet and --timeout say how --wait waits, which is not given", errUsage)
	case w.quiet < 0:
		return fmt.Errorf("%w: --quiet %s is negative", errUsage, w.quiet)
	case w.timeout <= 0:
		return fmt.Errorf("%w: --timeout %s leaves no time to wait", errUsage, w.timeout)
	}
	return nil
}

// awaited is the answer to a pause with --wait.
type awaited struct {
	command.Paused
	Wait wait.Result `json:"wait"`
}

// pauseAndWait carries out order, a pause, and returns once it has taken hold. The
// error tells how the wait ended otherwise; the pause then stands, unless somebody
// else has lifted it.
func (a *app) pauseAndWait(ctx context.Context, order command.Command, w waitFlags) error {
	p, err := ask[command.Paused](ctx, a, order)
	if err != nil {
		return err
	}
	if !a.json {
		a.showPaused(p)
	}
	look := func(ctx context.Context) (*command.Look, error) {
		l, err := ask[command.Look](ctx, a, command.Command{Verb: "wait", Target: p.Target, Epoch: p.Epoch})
		if err != nil && isUsage(err) {
			return nil, fmt.Errorf("%w: %w", wait.ErrFinal, err)
		}
		return l, err
	}
	d := waitDisplay{w: a.stderr, live: a.terminal}
	r := wait.Run(ctx, look, wait.Options{Pause: *p, Quiet: w.quiet, Timeout: w.timeout, Show: d.show})
	if r.State == wait.Done && len(r.Nodes) == 0 {
		p.Warnings = append(p.Warnings, "No node is covered: there was none to wait for.")
		if !a.json {
			a.warn(p.Warnings[len(p.Warnings)-1:])
		}
	}
	if a.json {
		if err := json.NewEncoder(a.stdout).Encode(awaited{*p, r}); err != nil {
			return err
		}
	}
	return a.ended(p.Target, &r, w.timeout)
}

// ended tells how a wait ended.
func (a *app) ended(target string, r *wait.Result, limit time.Duration) error {
	stands := fmt.Sprintf("the pause stands: detour resume %s lifts it", target)
	switch r.State {
	case wait.Done:
		if !a.json {
			fmt.Fprintf(a.stdout, "quiet after %.1fs: nothing is under way at %s\n", float64(r.WaitedMS)/1000, counted(len(r.Nodes), "node"))
		}
		return nil
	case wait.TimedOut:
		left := r.Left()
		if r.Why != "" {
			left = append(left, r.Why)
		}
		return fmt.Errorf("%w after %s, left are %s; %s", errTimedOut, limit, strings.Join(left, "; "), stands)
	case wait.Overtaken:
		by := ""
		if r.By != "" {
			by = " by " + r.By
		}
		return fmt.Errorf("%w: %s%s at %s", errOvertaken, r.Why, by, r.At.Time().Format(time.RFC3339))
	case wait.Interrupted:
		return fmt.Errorf("the wait was interrupted; %s", stands)
	}
	return fmt.Errorf("cannot be waited for: %s; %s", r.Why, stands)
}

const waitLineEvery = 5 * time.Second

// waitDisplay shows how a wait stands: in one line that is redrawn on a terminal,
// else in a line for what has changed, not too often.
type waitDisplay struct {
	w    io.Writer
	live bool

	said string
	at   time.Duration
}

func (d *waitDisplay) show(r wait.Result) {
	const (
		width = 10
		erase = "\r\x1b[K" // ECMA-48 EL: from the cursor to the end of the line
		// DEC private mode DECAWM: a narrow terminal does not wrap, and so has one line to erase.
		cutOff, wrapAgain = "\x1b[?7l", "\x1b[?7h"
	)
	waited := time.Duration(r.WaitedMS) * time.Millisecond
	line := r.String()
	clock := fmt.Sprintf("%02d:%02d", int(waited.Minutes()), int(waited.Seconds())%60)
	switch {
	case d.live && r.State != wait.Waiting:
		_, _ = io.WriteString(d.w, erase)
	case d.live:
		full := width * r.Quiet() / max(len(r.Nodes), 1)
		bar := strings.Repeat("#", full) + strings.Repeat("-", width-full)
		_, _ = fmt.Fprintf(d.w, "%s%s[%s] %s %s%s", erase, cutOff, bar, clock, line, wrapAgain)
	case r.State == wait.Waiting && line != d.said && (d.said == "" || waited-d.at >= waitLineEvery):
		d.said, d.at = line, waited
		_, _ = io.WriteString(d.w, line+", "+clock+"\n")
	}
}
