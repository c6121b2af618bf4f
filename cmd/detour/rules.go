package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/internal/rules"
)

func (a *app) rulesCommand() *cobra.Command {
	var o command.RuleOptions
	c := &cobra.Command{
		Use:   "rules [ARN…]",
		Short: "Make listener rules follow the pauses now, as each sweep does",
		Long: `Rules moves the weight of each paused group's target group to the redirect
function's, in the listener rules that the group lists, and back when the group
is resumed. Whatever else stands in a rule stays its owner's. A rule that somebody
else has changed meanwhile is foreign, and left alone until --adopt.

It calls AWS with the credentials and Region of every AWS tool, or has the
heartbeat function do it (--function).`,
		Example: `  detour rules --dry-run
  detour rules --restore
  detour rules --adopt arn:aws:elasticloadbalancing:eu-west-1:123456789012:listener-rule/app/shop/0/0/0`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			o.Only = args
			return do(c.Context(), a, command.Command{Verb: "rules", Rules: &o}, a.showRules)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.DryRun, "dry-run", false, "change nothing, and show what would change")
	f.BoolVar(&o.Adopt, "adopt", false, "what a foreign rule is now becomes what it rests on")
	f.BoolVar(&o.Restore, "restore", false, "put back rules that a lost registry has left moved")
	f.BoolVar(&o.Force, "force", false, "move even where nobody is offered, and back to targets that are not healthy")
	return c
}

func (a *app) showRules(r *command.Rules) {
	if r.Warning != "" {
		a.warn([]string{r.Warning})
	}
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "STATE\tGROUPS\tCHANGE\tWHY\tRULE")
	for _, s := range r.Rules {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", s.State, strings.Join(s.Groups, " "), change(s.Change), s.Why, s.ARN)
	}
	_ = w.Flush()
}

// change shows weights before and after, in the action's order.
func change(c *rules.Change) string {
	if c == nil {
		return "-"
	}
	weights := func(f rules.Forward) string {
		var list []string
		for _, w := range f.Weights {
			list = append(list, fmt.Sprint(w.Weight))
		}
		return strings.Join(list, ":")
	}
	return weights(c.Before) + " → " + weights(c.After)
}
