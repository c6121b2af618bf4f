package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/detourhq/detour/internal/demo"
	"github.com/detourhq/detour/pkg/cluster"
)

// demoFlags say which demo is run, and how.
type demoFlags struct {
	demo.Config
	sessions bool
	mode     string
	deadline time.Duration
}

func (a *app) demoCommand() *cobra.Command {
	var d demoFlags
	c := &cobra.Command{
		Use:   "demo",
		Short: "A whole rolling deployment on this machine, under load",
		Long: `Demo deploys two groups of nodes in turn, and single nodes too, while clients send
a steady load through a local load balancer: the real redirect function under a
local Lambda runtime, nodes that really stop and come back as a new version, and
clients that follow redirects and check the hash of every body.

It needs the redirect function's binary: --binary, or Go and this project's
source to build it. It ends with 1 if any request failed; --without-detour shows
what the same deployment loses today, and ends with 0.

With --sessions it deploys a shop that keeps its customers' sessions in the memory
of its nodes, node by node: one target group with stickiness, a gate before each
node. A node that drains keeps the sessions that it has until they end, or until
--deadline; its gate leads newcomers to another node's host, where they stay. When
nobody is left, it is stopped and comes back empty. No session is ever led to
another host, for its cookie would stay behind. The gate answers the load balancer
as well while it drains sessions: stickiness would give those of an ill target to
others. It ends with 1 if a request failed, a session was lost before the deadline,
or a newcomer met a node known to drain. --mode redirect shows which sessions the
same deployment loses without a drain, and ends with 0.`,
		Example: `  detour demo
  detour demo --without-detour --json
  detour demo --rounds 3 --rate 400 --redis redis://127.0.0.1:6379
  detour demo --sessions
  detour demo --sessions --deadline 1s`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			d.RedisURL = a.redis
			if err := d.check(c.Flags()); err != nil {
				return err
			}
			if d.sessions {
				return a.sessionsDemo(c, &d)
			}
			return a.deploymentDemo(c, &d)
		},
	}
	d.add(c.Flags())
	return c
}

func (d *demoFlags) add(f *pflag.FlagSet) {
	f.IntVar(&d.Rounds, "rounds", 1, "how many times everything is deployed")
	f.IntVar(&d.Rate, "rate", 250, "requests per second")
	f.IntVar(&d.Nodes, "nodes", 3, "nodes per group")
	f.BoolVar(&d.WithoutDetour, "without-detour", false, "the same deployment, without")
	f.StringVar(&d.Binary, "binary", "", "the redirect function's binary (default: built from source)")
	f.BoolVar(&d.sessions, "sessions", false, "a shop whose nodes keep sessions, drained one after the other")
	f.StringVar(&d.mode, "mode", string(cluster.Drain), "with --sessions: of the pauses, drain or redirect")
	f.DurationVar(&d.deadline, "deadline", 0, "with --sessions: when a drain ends (default: never)")
}

// check wants flags that belong to the demo that is run, and none that asks for
// nothing.
func (d *demoFlags) check(f *pflag.FlagSet) error {
	switch {
	case d.sessions && (f.Changed("without-detour") || f.Changed("binary")):
		return fmt.Errorf("%w: --without-detour and --binary are not for --sessions", errUsage)
	case !d.sessions && (f.Changed("mode") || f.Changed("deadline")):
		return fmt.Errorf("%w: --mode and --deadline say how --sessions pauses, which is not given", errUsage)
	case d.Rounds == 0 || d.Rate == 0 || d.Nodes == 0:
		return fmt.Errorf("%w: --rounds, --rate and --nodes are 1 at least", errUsage)
	}
	return nil
}

func (a *app) deploymentDemo(c *cobra.Command, d *demoFlags) error {
	display := demo.NewDisplay(a.stderr, a.terminal)
	result, err := demo.Run(c.Context(), d.Config, display.Update)
	display.End()
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		err = &advised{err, "the redirect function is built from this project's source with Go; elsewhere name a built one by --binary"}
	}
	return a.tellDemo(result, result.Requests, demo.Verdict(result, d.WithoutDetour), err, d.WithoutDetour || result.Failed == 0)
}

func (a *app) sessionsDemo(c *cobra.Command, d *demoFlags) error {
	config := demo.SessionsConfig{
		Rounds: d.Rounds, Rate: d.Rate, Nodes: d.Nodes, RedisURL: d.RedisURL,
		Mode: cluster.Mode(d.mode), Deadline: d.deadline,
	}
	display := demo.NewDisplay(a.stderr, a.terminal)
	result, err := demo.RunSessions(c.Context(), config, display.Update)
	display.End()
	return a.tellDemo(result, result.Requests, demo.SessionsVerdict(result, config), err, config.Mode == cluster.Redirect || result.Kept())
}

// tellDemo shows how a demo ended: cut short by err, maybe before its first request,
// or else well or not.
func (a *app) tellDemo(result any, requests int, verdict string, err error, well bool) error {
	if err != nil {
		if requests > 0 {
			fmt.Fprintf(a.stderr, "Cut short. Until then: %s\n", verdict)
		}
		return err
	}
	if a.json {
		err = json.NewEncoder(a.stdout).Encode(result)
	} else {
		_, err = fmt.Fprintln(a.stdout, verdict)
	}
	if err == nil && !well {
		return errQuiet
	}
	return err
}
