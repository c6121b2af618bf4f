package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/pkg/cluster"
)

func (a *app) groupCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "group",
		Short: "What is known of a group beyond its nodes",
		Long: `A group exists once a node or a pause names it. A record adds what its nodes do
not say: its service, who stands in for it, and how requests for it are known.`,
		Args: subcommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },

		SuggestionsMinimumDistance: typo,
	}
	c.AddCommand(a.groupPutCommand(), a.groupListCommand(), a.groupRemoveCommand())
	return c
}

// groupFlag is a flag of group put: a member of the group's record.
type groupFlag struct{ flag, member, usage string }

var groupTexts = []groupFlag{
	{"title", "title", "name for people"},
	{"service", "service", "groups of one service stand in for each other"},
	{"route", "route", "same-host route: a listener rule forwards *~ROUTE to the group"},
	{"target-group", "target_group", "ARN of the nodes' target group"},
	{"detour-target-group", "detour_target_group", "ARN of the redirect function's target group"},
	{"large-body-rule", "large_body_rule", "ARN of a listener rule for bodies over 1 MB, resting on the group's target group"},
	{"large-body-target-group", "large_body_target_group", "ARN of another group's target group, which that rule leads to while the group is paused"},
}

var groupLists = []groupFlag{
	{"fallback", "fallbacks", "group tried when this one has nobody, repeated, in order"},
	{"host", "hosts", "host name that means this group, repeated"},
	{"path", "paths", "path prefix that means this group, repeated"},
	{"rule", "rules", "ARN of a listener rule to move, repeated"},
	{"source", "sources", "asg:NAME, ecs:CLUSTER/SERVICE or codedeploy:APP/GROUP, repeated"},
}

func (a *app) groupPutCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "put ID",
		Short: "Set what is known of a group; only what is given changes",
		Long: `Put changes the members of a group's record that flags or --file name, and no
other. A flag goes before the file. An empty value takes a member away.`,
		Example: `  detour group put blue --service shop --fallback green --host app.example.com
  detour group put blue --cookie SID --affinity-format jvmroute --strict
  detour group put blue --fallback ""     (none)
  detour group put blue --file blue.json`,
		Args: exactly("ID"),
	}
	f := c.Flags()
	for _, g := range groupTexts {
		f.String(g.flag, "", g.usage)
	}
	for _, g := range groupLists {
		f.StringArray(g.flag, nil, g.usage+`; "" for none`)
	}
	f.String("cookie", "", "exact name of the session cookie")
	f.String("affinity-format", "", "how a session names its node: jvmroute, jeus, weblogic or websphere (default: any)")
	f.Bool("strict", false, "503 rather than lose a session outside its node's group and fallbacks")
	file := f.String("file", "", "JSON object with members to set, - for standard input")
	c.RunE = func(c *cobra.Command, args []string) error { return a.putGroup(c, args[0], *file) }
	return c
}

func (a *app) putGroup(c *cobra.Command, id, file string) error {
	members, err := readMembers(file, c.InOrStdin())
	if err != nil {
		return err
	}
	setMembers(members, c.Flags())
	body, err := json.Marshal(members)
	if err != nil {
		return fmt.Errorf("encode group %s: %w", id, err)
	}
	return do(c.Context(), a, command.Command{Verb: "group-put", ID: id, Group: body}, func(g *cluster.Group) {
		fmt.Fprintf(a.stdout, "group %s is set\n", g.ID)
	})
}

// setMembers lays the flags that were given over members.
func setMembers(members map[string]any, flags *pflag.FlagSet) {
	for _, g := range groupTexts {
		if flags.Changed(g.flag) {
			members[g.member], _ = flags.GetString(g.flag)
		}
	}
	for _, g := range groupLists {
		if flags.Changed(g.flag) {
			list, _ := flags.GetStringArray(g.flag)
			members[g.member] = slices.DeleteFunc(list, func(s string) bool { return s == "" })
		}
	}
	affinity := make(map[string]any)
	for flag, member := range map[string]string{"cookie": "cookie", "affinity-format": "format"} {
		if flags.Changed(flag) {
			affinity[member], _ = flags.GetString(flag)
		}
	}
	if flags.Changed("strict") {
		affinity["strict"], _ = flags.GetBool("strict")
	}
	if len(affinity) > 0 {
		members["affinity"] = affinity
	}
}

// readMembers reads a JSON object from file, "-" for stdin, an empty one for "".
func readMembers(file string, stdin io.Reader) (map[string]any, error) {
	members := map[string]any{}
	if file == "" {
		return members, nil
	}
	text, err := readAll(file, stdin)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	if err := json.Unmarshal(text, &members); err != nil || members == nil {
		return nil, fmt.Errorf("%w: %s is not one JSON object: %.80q", errUsage, file, text)
	}
	known := json.NewDecoder(bytes.NewReader(text))
	known.DisallowUnknownFields() // a member that is misspelt would change nothing
	if err := known.Decode(&cluster.Group{}); err != nil {
		return nil, fmt.Errorf("%w: %s: %w (docs/registry.md lists a group's members)", errUsage, file, err)
	}
	return members, nil
}

func readAll(file string, stdin io.Reader) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(file)
}

func (a *app) groupListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "The groups that have a record",
		Long:  "List shows what requests mean which group, and who stands in for it. --json has\nall members of each, as group put --file takes them.",
		Args:  exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return do(c.Context(), a, command.Command{Verb: "group-list"}, func(l *command.Groups) {
				w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
				fmt.Fprintln(w, "GROUP\tSERVICE\tFALLBACKS\tHOSTS\tPATHS\tTITLE")
				for _, g := range l.Groups {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", g.ID, g.Service, strings.Join(g.Fallbacks, " "), strings.Join(g.Hosts, " "), strings.Join(g.Paths, " "), g.Title)
				}
				_ = w.Flush()
			})
		},
	}
}

func (a *app) groupRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rm ID",
		Short: "Forget a group's record; its nodes stay",
		Args:  exactly("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return do(c.Context(), a, command.Command{Verb: "group-rm", ID: args[0]}, func(r *command.Removed) {
				if !r.Existed {
					fmt.Fprintf(a.stdout, "group %s had no record\n", r.ID)
					return
				}
				fmt.Fprintf(a.stdout, "group %s is forgotten\n", r.ID)
			})
		},
	}
}
