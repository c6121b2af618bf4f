package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/internal/sweep"
)

func (a *app) sweepCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sweep",
		Short: "Tidy the registry once, as the heartbeat function does",
		Long: `Sweep ends pauses whose time is over, asks stale nodes that have a probe, and
prunes those that went silent for good: never many at once, and nobody while all
look silent. It is safe at any time; while another sweeps it does nothing.`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return do(c.Context(), a, command.Command{Verb: "sweep"}, a.showSweep)
		},
	}
}

func (a *app) showSweep(r *sweep.Result) {
	if r.Held {
		fmt.Fprintln(a.stdout, "another sweeper is at work: nothing done")
		return
	}
	fmt.Fprintf(a.stdout, "%s, %d stale, %d pruned\n", counted(r.Nodes, "node"), r.Stale, len(r.PrunedIDs))
	for _, line := range []struct {
		what string
		ids  []string
	}{{"pruned", r.PrunedIDs}, {"answered its probe", r.Returned}, {"pause ended", r.Ended}, {"came from the future", r.Stamped}} {
		if len(line.ids) > 0 {
			fmt.Fprintf(a.stdout, "%s: %s\n", line.what, strings.Join(line.ids, " "))
		}
	}
	if r.Withheld != "" {
		fmt.Fprintln(a.stdout, "nobody was pruned:", r.Withheld)
	}
}
