package main

import (
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/internal/rules"
	"github.com/detourhq/detour/pkg/cluster"
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
arrives any more; on hold what arrives waits. A node that leaves is waited for no
longer; one that is silent is, for it may still serve what it has. It ends with 3
at --timeout, with 4 when the pause is resumed, replaced or ends meanwhile, and
with 1 when a node counts nothing, so that nobody can tell. In all these cases but
4 the pause stands. A target that is not registered has nobody to wait for: that
is said, and ends with 0.`

// pauseFlags are those of pause.
type pauseFlags struct {
	order           command.Command
	lasts, deadline time.Duration
	waits           waitFlags
}

func (a *app) pauseCommand() *cobra.Command {
	var p pauseFlags
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
			if err := p.check(c.Flags()); err != nil {
				return err
			}
			p.order.Verb, p.order.Target, p.order.By = "pause", args[0], a.whoAmI(p.order.By)
			p.order.ForMS, p.order.DeadlineMS = p.lasts.Milliseconds(), p.deadline.Milliseconds()
			if p.waits.wait {
				return a.pauseAndWait(c.Context(), p.order, p.waits)
			}
			return do(c.Context(), a, p.order, a.showPaused)
		},
	}
	p.add(c.Flags())
	return c
}

func (p *pauseFlags) add(f *pflag.FlagSet) {
	f.StringVar(&p.order.Mode, "mode", "redirect", "redirect, drain, hold or stop")
	f.DurationVar(&p.lasts, "for", 0, "end by itself after this long (default: at resume)")
	f.DurationVar(&p.deadline, "deadline", 0, "in mode drain: sessions stay this long at most (default: until they end)")
	f.StringVar(&p.order.Reason, "reason", "", "why, for the others")
	f.StringVar(&p.order.By, "by", "", "who, for the others (default: your user name)")
	f.BoolVar(&p.order.Force, "force", false, "move listener rules even where nobody is left to lead users to, and at once in a drain")
	p.waits.add(f)
}

// check wants of the flags that were given that they can be meant. The registry counts
// in milliseconds, and takes none of them for a pause without an end.
func (p *pauseFlags) check(f *pflag.FlagSet) error {
	for name, d := range map[string]time.Duration{"for": p.lasts, "deadline": p.deadline} {
		if f.Changed(name) && d >= 0 && d < time.Millisecond {
			return fmt.Errorf("%w: --%s %s is less than 1ms; leave it off for no end", errUsage, name, d)
		}
	}
	return p.waits.check(f)
}

func (a *app) showPaused(p *command.Paused) {
	a.warn(p.Warnings)
	fmt.Fprintf(a.stdout, "paused %s in mode %s at epoch %d, covering %s%s\n", p.Target, p.Mode, p.Epoch, counted(len(p.Nodes), "node"), ends(p.Until, p.Deadline))
	a.showFollowers(p.Rules)
}

// ends tells the ends that a pause has, each after a comma.
func ends(until, deadline cluster.Millis) string {
	var text string
	if deadline != 0 {
		text += ", its sessions until " + instant(deadline, "")
	}
	if until != 0 {
		text += ", until " + instant(until, "")
	}
	return text
}

// showFollowers tells how the listener rules stand that follow a pause or resume.
func (a *app) showFollowers(answers []command.RuleAnswer) {
	for _, r := range answers {
		why := r.Why
		if r.State == rules.Pending && why == "" {
			why = "the next sweep sees to it"
		}
		fmt.Fprintln(a.stdout, strings.TrimSpace(fmt.Sprintf("rule %s: %s %s", r.ARN, r.State, why)))
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
