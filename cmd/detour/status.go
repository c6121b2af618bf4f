package main

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/pkg/cluster"
)

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Who is in the cluster, who is offered, what is paused",
		Long: `Status shows every group and node with what it reports, whether new traffic is
offered to it, and why not, how long it has been silent, and what it has under way;
the pauses in force, with who put them, when a drain's sessions go, and when it ends;
and what in the registry cannot be read. --json tells more of each node.`,
		Example: `  detour status
  detour status --json | jq '.groups[].nodes[] | select(.offered | not)'`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return do(c.Context(), a, command.Command{Verb: "status"}, a.showStatus)
		},
	}
}

func (a *app) showStatus(s *command.Status) {
	fmt.Fprintf(a.stdout, "cluster %s, epoch %d, %s\n", s.Cluster, s.Epoch, s.Time.Time().Format(time.RFC3339))
	if s.FailOpen {
		fmt.Fprintln(a.stdout, "every unpaused node looks stale: staleness is ignored")
	}
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	showNodes(w, s.Groups)
	showPauses(w, s.Pauses)
	_ = w.Flush()
	for _, b := range s.Broken {
		fmt.Fprintf(a.stderr, "warning: %s %.60q cannot be read: %s\n", b.Key, b.Field, b.Error)
	}
}

func showNodes(w io.Writer, groups []command.GroupStatus) {
	fmt.Fprintln(w, "\nGROUP\tNODE\tREPORTS\tOFFERED\tSILENT\tIN FLIGHT\tSESSIONS\tVERSION\tENDPOINT")
	for _, g := range groups {
		name := g.ID
		if g.Paused {
			name += " (paused)"
		}
		if len(g.Nodes) == 0 {
			fmt.Fprintln(w, name+"\t-")
		}
		for _, n := range g.Nodes {
			silent := (time.Duration(n.SilentMS) * time.Millisecond).Round(100 * time.Millisecond)
			inflight, sessions := "-", "-" // it publishes none
			if n.Figures != nil {
				inflight, sessions = fmt.Sprint(n.Figures.InFlight), fmt.Sprint(n.Figures.Sessions)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, n.ID, cmp.Or(string(n.Status), "nothing"), offered(n.Offered, n.Why),
				silent, inflight, sessions, cmp.Or(n.Version, "-"), n.Endpoint)
		}
	}
}

func showPauses(w io.Writer, pauses []command.PauseStatus) {
	if len(pauses) == 0 {
		return
	}
	fmt.Fprintln(w, "\nPAUSED\tMODE\tBY\tDEADLINE\tUNTIL\tREASON")
	for _, p := range pauses {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", p.Target, p.Mode, p.By, instant(p.Deadline, "-"), instant(p.Until, "resumed"), p.Reason)
	}
}

// instant shows at, or none where there is none.
func instant(at cluster.Millis, none string) string {
	if at == 0 {
		return none
	}
	return at.Time().Format(time.RFC3339)
}

func offered(yes bool, why string) string {
	if yes {
		return "yes"
	}
	return "no: " + why
}

func (a *app) explainCommand() *cobra.Command {
	var method, cookie string
	c := &cobra.Command{
		Use:   "explain URL",
		Short: "Where a request would be led now, and why",
		Long: `Explain decides a request for URL (or for a path alone) as the redirect function
would now, by this shell's DETOUR_* variables, and tells of every node of the
service whether it is offered and why not.`,
		Example: `  detour explain https://app.example.com/cart
  detour explain /shop/42 --method POST
  detour explain /cart --cookie JSESSIONID=0123ABCD.n1`,
		Args: exactly("URL"),
		RunE: func(c *cobra.Command, args []string) error {
			return do(c.Context(), a, command.Command{Verb: "explain", URL: args[0], Method: method, Cookie: cookie}, a.showExplained)
		},
	}
	c.Flags().StringVar(&method, "method", "GET", "the request's method")
	c.Flags().StringVar(&cookie, "cookie", "", `the request's cookies, NAME=VALUE[; NAME=VALUE…]: its session, a pass`)
	return c
}

func (a *app) showExplained(x *command.Explained) {
	fmt.Fprintf(a.stdout, "%s: %s, %d\n", x.URL, x.Outcome, x.StatusCode)
	if x.Location != "" {
		fmt.Fprintf(a.stdout, "to node %s: %s\n", x.Node, x.Location)
	}
	for _, line := range []string{x.Reason, x.Session, passLine(x.Pass), holdLine(x.Hold)} {
		if line != "" {
			fmt.Fprintln(a.stdout, line)
		}
	}
	fmt.Fprintf(a.stdout, "meant for %s of service %s, %d hops behind it, epoch %d\n\n",
		cmp.Or(x.OriginNode, x.Group, "any group"), cmp.Or(x.Service, "(default)"), x.Hops, x.Epoch)
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "GROUP\tNODE\tOFFERED")
	for _, n := range x.Nodes {
		fmt.Fprintf(w, "%s\t%s\t%s\n", n.Group, n.ID, offered(n.Offered, n.Why))
	}
	_ = w.Flush()
}

func passLine(node string) string {
	if node == "" {
		return ""
	}
	return "the request has a pass to " + node
}

func holdLine(hold bool) string {
	if !hold {
		return ""
	}
	return "held first, for at most DETOUR_HOLD_MAX: waiting may bring a better answer"
}
