package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

const agentHelp = `Agent registers the node and pulses as long as it runs. A registry that is down
or was emptied is no reason to end: the node is back in it within two pulses.

On SIGTERM or SIGINT it first publishes that the node is paused: from then on
nobody is led here. It goes on pulsing until nothing arrives any more, takes the
node out of the registry, and ends. A second signal cuts the waiting short. It
ends with 1 when another process registers under the same id.

With -- CMD it is the application's entry point, in a container also as process
1: it starts CMD, hands HUP, QUIT, USR1, USR2 and WINCH on to it, and on SIGTERM
stops it once the node is quiet, before the node leaves. --drain-timeout and
--stop-timeout together are 29 s by default, within the 30 s that ECS
(stopTimeout) and Kubernetes grant. CMD's exit code is the agent's own: 128+N when
signal N killed it, 127 when there is no such command. When CMD fails the node
reports so before it leaves. The registry may be down at start and at the end.

What is quiet is known with --gate PATH: on this unix socket the application asks
for each request's GO, or its gate reports. Without, --grace is waited for.`

// agentFlags are those of agent, and the command after "--".
type agentFlags struct {
	node       nodeFlags
	pulseEvery time.Duration

	command      []string
	ready        string
	readyTimeout time.Duration
	stopTimeout  time.Duration

	gate         string
	maxInFlight  int64
	quiet        time.Duration
	grace        time.Duration
	drainTimeout time.Duration
}

func (a *app) agentCommand() *cobra.Command {
	var f agentFlags
	c := &cobra.Command{
		Use:   "agent [flags] [-- CMD ARGS...]",
		Short: "Keep this node in the registry, and publish its pause on SIGTERM",
		Long:  agentHelp,
		Example: `  detour agent --id n1 --group blue --endpoint https://n1.example.com --context /shop
  detour agent --group blue --endpoint https://n1.example.com --probe http://127.0.0.1:8080/health -- java -jar shop.jar`,
		Args: f.takeCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.complete(c); err != nil {
				return err
			}
			return a.runAgent(c.Context(), &f, c.Flags().Changed("pulse-every"))
		},
	}
	f.add(c)
	return c
}

func (f *agentFlags) add(c *cobra.Command) {
	flags := c.Flags()
	f.node.add(flags)
	target := flags.Lookup("target")
	target.Usage = `ELB target id: an EC2 instance id or an IP address; "auto" asks ECS and EC2 for it and for --task, "none" does not`
	target.DefValue, f.node.descriptor.Target = auto, auto
	flags.DurationVar(&f.pulseEvery, "pulse-every", 0, "interval between signs of life (default $DETOUR_PULSE_EVERY, else 5s)")
	flags.StringVar(&f.ready, "ready", "", "URL that answers 2xx once the application serves: until then the node reports starting (default with -- CMD: --probe)")
	flags.DurationVar(&f.readyTimeout, "ready-timeout", 0, "give up, and stop CMD, when it is not ready after this long (default: never)")
	flags.StringVar(&f.gate, "gate", "", "path of the unix socket that tells what is in flight")
	flags.Int64Var(&f.maxInFlight, "max-inflight", 0, "with --gate: report overloaded, so that nobody new is led here, while so many requests are in flight (default: never)")
	flags.DurationVar(&f.quiet, "quiet", 2*time.Second, "with --gate: for how long nothing may arrive; 5 times the mean gap between arrivals if longer")
	flags.DurationVar(&f.grace, "grace", 5*time.Second, "without --gate: how long after SIGTERM the node stays for redirects on their way")
	flags.DurationVar(&f.drainTimeout, "drain-timeout", 25*time.Second, "wait no longer until the node is quiet")
	flags.DurationVar(&f.stopTimeout, "stop-timeout", 4*time.Second, "then wait no longer until CMD ends, and kill it; what is left of --drain-timeout is added")
}

// takeCommand takes what stands after "--", and nothing before it.
func (f *agentFlags) takeCommand(c *cobra.Command, args []string) error {
	dash := c.ArgsLenAtDash()
	switch {
	case dash < 0 && len(args) > 0, dash > 0:
		return fmt.Errorf("%w: %s does not take %q before a command (agent [flags] -- CMD ARGS...)", errUsage, c.CommandPath(), args[0])
	case dash == 0 && (len(args) == 0 || args[0] == ""):
		return fmt.Errorf("%w: no command after --", errUsage)
	}
	f.command = args
	return nil
}

// complete checks the flags, and sets those that depend on others.
func (f *agentFlags) complete(c *cobra.Command) error {
	for name, d := range map[string]time.Duration{
		"--ready-timeout": f.readyTimeout, "--quiet": f.quiet, "--grace": f.grace,
		"--drain-timeout": f.drainTimeout, "--stop-timeout": f.stopTimeout,
	} {
		if d < 0 {
			return fmt.Errorf("%w: %s is %s, less than nothing", errUsage, name, d)
		}
	}
	if !c.Flags().Changed("drain-timeout") {
		f.drainTimeout = max(f.drainTimeout, f.grace+publishing, f.quiet+publishing)
	}
	if f.maxInFlight < 0 || f.maxInFlight > 0 && f.gate == "" {
		return fmt.Errorf("%w: --max-inflight is a number above 0, and --gate counts what is in flight: give both", errUsage)
	}
	if err := checkURL("--ready", f.ready); err != nil {
		return err
	}
	if len(f.command) > 0 && !c.Flags().Changed("ready") {
		f.ready = f.node.descriptor.Probe
	}
	return nil
}

// publishing is the time that publishing a pause may take of --drain-timeout.
const publishing = 5 * time.Second
