package main

import (
	"fmt"
	"net/url"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/pkg/cluster"
)

// nodeFlags are what register and agent say of a node.
type nodeFlags struct {
	descriptor cluster.Descriptor
	role       string
	status     string
}

func (n *nodeFlags) add(f *pflag.FlagSet) {
	d := &n.descriptor
	f.StringVar(&d.ID, "id", "", "the node's id, the same after a restart (default: this machine's name)")
	f.StringVar(&d.Group, "group", "", "the group that it is deployed with (required)")
	f.StringVar(&d.Endpoint, "endpoint", "", "base URL that clients reach it by, https://HOST[:PORT][/BASE] (required)")
	f.Float64Var(&d.Weight, "weight", cluster.DefaultWeight, "share of new traffic beside its peers' weights")
	f.StringVar(&n.role, "role", "app", "app, standby (only when nobody else is left) or console (never offered)")
	f.StringVar(&d.Zone, "zone", "", "availability zone")
	f.StringArrayVar(&d.Contexts, "context", nil, `context path that it serves, repeated (default "/")`)
	f.StringArrayVar(&d.Routes, "route", nil, "session route id: JVM route, clone or engine id, repeated")
	f.StringVar(&d.Probe, "probe", "", "URL that answers 2xx while the node is well")
	f.StringVar(&d.Target, "target", "", "ELB target id: an EC2 instance id or an IP address")
	f.StringVar(&d.Task, "task", "", "ECS task ARN")
	f.StringVar(&d.Version, "app-version", "", "version of the application, for people")
	f.StringVar(&n.status, "status", "active", "first report: starting, active, paused, overloaded, error or inactive")
}

// node returns the descriptor, complete.
func (n *nodeFlags) node() (cluster.Descriptor, error) {
	d := n.descriptor
	d.Role = cluster.Role(n.role)
	var err error
	if d.ID, err = n.id(); err != nil {
		return d, err
	}
	for flag, value := range map[string]string{"--group": d.Group, "--endpoint": d.Endpoint} {
		if value == "" {
			return d, fmt.Errorf("%w: %s is missing", errUsage, flag)
		}
	}
	if err := d.Check(); err != nil {
		return d, fmt.Errorf("%w: %w", errUsage, err)
	}
	switch cluster.Status(n.status) {
	case cluster.Starting, cluster.Active, cluster.Paused, cluster.Overloaded, cluster.Faulty, cluster.Inactive:
	default:
		return d, fmt.Errorf("%w: --status %q is none of starting, active, paused, overloaded, error, inactive", errUsage, n.status)
	}
	return d, checkURL("--probe", d.Probe)
}

// checkURL wants a URL to ask of a flag that was given.
func checkURL(flag, value string) error {
	if value == "" {
		return nil
	}
	if u, err := url.Parse(value); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%w: %s %q is no URL to ask: http://HOST[:PORT]/PATH, or https", errUsage, flag, value)
	}
	return nil
}

// id returns the node's id, this machine's name if none was given.
func (n *nodeFlags) id() (string, error) {
	if n.descriptor.ID != "" {
		return n.descriptor.ID, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("%w: --id is missing, and this machine has no name: %w", errUsage, err)
	}
	return name, nil
}

func (a *app) registerCommand() *cobra.Command {
	var n nodeFlags
	var load float64
	c := &cobra.Command{
		Use:   "register",
		Short: "Put a node into the registry, once",
		Long: `Register writes a node with its report and one pulse: it is offered at once. The
same node again keeps its generation and counts as a pulse, so a node without an
agent may call this every few seconds. A node that changed is a new start.`,
		Example: `  detour register --id n1 --group blue --endpoint https://n1.example.com --context /shop`,
		Args:    exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			d, err := n.node()
			if err != nil {
				return err
			}
			order := command.Command{Verb: "register", Node: &d, Status: cluster.Status(n.status)}
			if c.Flags().Changed("load") {
				order.Load = &load
			}
			return do(c.Context(), a, order, func(r *command.Registered) {
				fmt.Fprintf(a.stdout, "registered %s as generation %s at epoch %d\n", r.ID, r.Generation, r.Epoch)
			})
		},
	}
	n.add(c.Flags())
	c.Flags().Float64Var(&load, "load", 0, "load, on any scale that all nodes share; less is freer")
	return c
}

func (a *app) leaveCommand() *cobra.Command {
	var n nodeFlags
	c := &cobra.Command{
		Use:   "leave",
		Short: "Take a node out of the registry, once",
		Long: `Leave removes a node. Late pulses of this life of it are refused for ten minutes;
its next start is welcome. A node that is not registered is no error. It takes
the flags of register, so that one line serves both; only --id counts.`,
		Example: `  detour leave --id n1`,
		Args:    exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			id, err := n.id()
			if err != nil {
				return err
			}
			return do(c.Context(), a, command.Command{Verb: "leave", ID: id}, func(l *command.Left) {
				if !l.WasRegistered {
					fmt.Fprintf(a.stdout, "%s was not registered\n", l.ID)
					return
				}
				fmt.Fprintf(a.stdout, "%s left at epoch %d\n", l.ID, l.Epoch)
			})
		},
	}
	n.add(c.Flags())
	c.Flags().Float64("load", 0, "as register takes it")
	return c
}
