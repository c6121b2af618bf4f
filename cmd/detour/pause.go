package main

import (
	"fmt"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/detourhq/detour/internal/command"
)

const targets = `A target is node:ID, group:ID, context:NODE/PATH or all.`

const pauseText = `Pause puts a pause on a target: when it returns, no later request is led there.
` + targets + ` It covers nodes that
register later too, and survives their restarts.

Modes:
  redirect  all traffic goes to peers (default)
  drain     new traffic goes to peers, sessions stay until they end or --deadline
  hold      traffic waits a moment, then goes to peers
  stop      as redirect, and nothing waits; ends by resume only

With --wait it returns once the pause has taken hold: the group's listener rules
are moved, and obeyed for DETOUR_RULE_SETTLE, each node has seen the pause, has
nothing in flight (in a drain: no sessions either, until --deadline), and nothing
arrives any more; on hold what arrives waits. A node that leaves is waited for no longer; one that is silent
is, for it may still serve what it has. It ends with 3 at --timeout, with 4 when
the pause is resumed, replaced or ends meanwhile, and with 1 when a node counts
nothing, so that nobody can tell. In all these cases but 4 the pause stands.`

func (a *app) pauseCommand() *cobra.Command {
	var mode, reason, by string
	var lasts, deadline time.Duration
	var force bool
	var waits waitFlags
	c := &cobra.Command{
		Use:   "pause TARGET",
		Short: "Send traffic elsewhere until resumed",
		Long:  pauseText,
		Example: `  detour pause group:blue --for 10m --reason "release 42"
  detour pause node:n7 --mode drain --deadline 15m
  detour pause group:blue --wait --timeout 5m && ./deploy blue
  detour pause context:n7/shop`,
		Args: exactly("TARGET"),
		RunE: func(c *cobra.Command, args []string) error {
			order := command.Command{
				Verb: "pause", Target: args[0], Mode: mode, Reason: reason, By: a.whoAmI(by),
				ForMS: lasts.Milliseconds(), DeadlineMS: deadline.Milliseconds(), Force: force,
			}
			if err := waits.check(c.Flags()); err != nil {
				return err
			}
			if waits.wait {
				return a.pauseAndWait(c.Context(), order, waits)
			}
			return do(c.Context(), a, order, a.showPaused)
		},
	}
	f := c.Flags()
	f.StringVar(&mode, "mode", "redirect", "redirect, drain, hold or stop")
	f.DurationVar(&lasts, "for", 0, "end by itself after this long (default: at resume)")
	f.DurationVar(&deadline, "deadline", 0, "in mode drain: sessions stay this long at most (default: until they end)")
	f.StringVar(&reason, "reason", "", "why, for the others")
	f.StringVar(&by, "by", "", "who, for the others (default: your user name)")
	f.BoolVar(&force, "force", false, "move listener rules even where nobody is left to lead users to, and at once in a drain")
	waits.add(f)
	return c
}

func (a *app) showPaused(p *command.Paused) {
	a.warn(p.Warnings)
	fmt.Fprintf(a.stdout, "paused %s in mode %s at epoch %d, covering %d nodes", p.Target, p.Mode, p.Epoch, len(p.Nodes))
	if p.Until != 0 {
		fmt.Fprintf(a.stdout, ", until %s", p.Until.Time().Format(time.RFC3339))
	}
	fmt.Fprintln(a.stdout)
	a.showFollowers(p.Rules)
}

// showFollowers tells how the listener rules stand that follow a pause or resume.
func (a *app) showFollowers(answers []command.RuleAnswer) {
	for _, r := range answers {
		fmt.Fprintf(a.stdout, "rule %s: %s %s\n", r.ARN, r.State, r.Why)
	}
}

func (a *app) resumeCommand() *cobra.Command {
	var reason, by string
	c := &cobra.Command{
		Use:   "resume TARGET",
		Short: "Lift the pause on a target, and no other",
		Long: `Resume lifts the pause on exactly this target. A node that another pause covers
too stays paused; that is said. What is not paused is no error.
` + targets,
		Example: `  detour resume group:blue`,
		Args:    exactly("TARGET"),
		RunE: func(c *cobra.Command, args []string) error {
			order := command.Command{Verb: "resume", Target: args[0], Reason: reason, By: a.whoAmI(by)}
			return do(c.Context(), a, order, a.showResumed)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the others")
	c.Flags().StringVar(&by, "by", "", "who, for the others (default: your user name)")
	return c
}

func (a *app) showResumed(r *command.Resumed) {
	a.warn(r.Warnings)
	if !r.WasPaused {
		fmt.Fprintf(a.stdout, "%s was not paused\n", r.Target)
		return
	}
	fmt.Fprintf(a.stdout, "resumed %s at epoch %d\n", r.Target, r.Epoch)
	a.showFollowers(r.Rules)
}

// whoAmI is the caller's word, or the name that this machine knows.
func (a *app) whoAmI(by string) string {
	if by != "" {
		return by
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}
