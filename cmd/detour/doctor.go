package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/internal/doctor"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Name what is wrong with the set-up, and what to do",
		Long: `Doctor looks at registry, nodes, groups, pauses, sweeps, and at listener rules,
target groups and lifecycle hooks, and changes nothing. What it judges by settings
is judged by those of this environment, or with --function by the heartbeat
function's. It calls AWS with the credentials and Region of every AWS tool; without
a Region those checks are skipped.

It exits with 1 if anything is wrong; warnings and notes are none.`,
		Example: `  detour doctor
  detour doctor --function NAME --json`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return a.examine(c.Context()) },
	}
}

// examine tells what is wrong; the exit code depends on it.
func (a *app) examine(ctx context.Context) error {
	r, err := ask[doctor.Report](ctx, a, command.Command{Verb: "doctor"})
	if err != nil {
		return err
	}
	if !a.json {
		a.showReport(r)
	} else if err := json.NewEncoder(a.stdout).Encode(r); err != nil {
		return err
	}
	if r.Wrong > 0 {
		return errQuiet
	}
	return nil
}

func (a *app) showReport(r *doctor.Report) {
	for _, f := range r.Findings {
		about := ""
		if f.About != "" {
			about = " " + f.About
		}
		fmt.Fprintf(a.stdout, "%s: %s%s\n  %s\n  → %s\n", f.Severity, f.Check, about, f.What, f.Do)
	}
	skipped := make(map[string][]string)
	for _, s := range r.Skipped {
		skipped[s.Why] = append(skipped[s.Why], s.Check)
	}
	for _, why := range slices.Sorted(maps.Keys(skipped)) {
		fmt.Fprintf(a.stderr, "skipped %s: %s\n", strings.Join(skipped[why], ", "), why)
	}
	fmt.Fprintf(a.stdout, "%d checks: %d wrong, %d warnings, %d notes\n", r.Checked, r.Wrong, r.Warnings, r.Notes)
}
