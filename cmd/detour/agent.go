package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/detourhq/detour/internal/agent"
	"github.com/detourhq/detour/pkg/cluster"
)

func (a *app) agentCommand() *cobra.Command {
	var n nodeFlags
	var pulseEvery, grace time.Duration
	c := &cobra.Command{
		Use:   "agent",
		Short: "Keep this node in the registry, and publish its pause on SIGTERM",
		Long: `Agent registers the node and pulses as long as it runs. A registry that is down
or was emptied is no reason to end: the node is back in it within two pulses.

On SIGTERM or SIGINT it first publishes that the node is paused: from then on
nobody is led here. It goes on pulsing for --grace, so that redirects on their
way still find the node, takes the node out of the registry, and ends. A second
signal ends it at once. It ends with 1 when another process registers under the
same id.`,
		Example: `  detour agent --id n1 --group blue --endpoint https://n1.example.com --context /shop`,
		Args:    exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			d, err := n.node()
			if err != nil {
				return err
			}
			settings, err := a.settings()
			if err != nil {
				return err
			}
			if !c.Flags().Changed("pulse-every") {
				pulseEvery = settings.PulseEvery
			}
			registry, err := settings.Open()
			if err != nil {
				return err
			}
			defer func() { _ = registry.Close() }()
			log := slog.New(slog.NewTextHandler(a.stderr, nil))
			log.Info("no gate counts this node's requests: that none arrives after a pause cannot be proved, only waited for", "grace", grace)
			return keep(c.Context(), agent.New(registry, agent.Config{
				Descriptor: d, Status: cluster.Status(n.status), PulseEvery: pulseEvery, Timeout: settings.Timeout, Grace: grace, Log: log,
			}), grace, log)
		},
	}
	n.add(c.Flags())
	c.Flags().DurationVar(&pulseEvery, "pulse-every", 0, "interval between signs of life (default $DETOUR_PULSE_EVERY, else 5s)")
	c.Flags().DurationVar(&grace, "grace", 5*time.Second, "how long after SIGTERM the node stays for redirects on their way")
	return c
}

// publishLimit is how long an agent that was told to end tries to say so.
const publishLimit = 10 * time.Second

// keep runs node until ctx ends, and then takes it out in order.
func keep(ctx context.Context, node *agent.Agent, grace time.Duration, log *slog.Logger) error {
	if err := node.Start(ctx); err != nil {
		return err
	}
	log.InfoContext(ctx, "registered")
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- node.Run(running) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	log.InfoContext(ctx, "told to end: publishing the pause")
	limited, cancel := context.WithTimeout(running, grace+publishLimit)
	defer cancel()
	if err := node.Shutdown(limited, "told to end"); err != nil {
		return fmt.Errorf("leave in order: %w", err)
	}
	return <-ended
}
