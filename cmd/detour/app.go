package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/internal/demo"
	"github.com/detourhq/detour/pkg/cluster"
)

// Exit codes.
const (
	done      = 0
	failed    = 1
	usage     = 2
	timedOut  = 3
	overtaken = 4
)

// app is one call of the program. Every field but those of flags is required.
type app struct {
	environment    map[string]string
	stdout, stderr io.Writer
	terminal       bool // stderr is one: progress may redraw itself

	json                     bool
	redis, cluster, function string
}

// errUsage reports a call that cannot be meant.
var errUsage = errors.New("usage")

// run carries out args and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root() //nolint:contextcheck // each command gets the context that ExecuteContext is given
	root.SetArgs(args)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return done
	case errors.Is(err, errQuiet):
		return failed
	}
	if theirs := (*exitError)(nil); errors.As(err, &theirs) {
		return theirs.show(a.stderr)
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = fmt.Errorf("interrupted: %w", err)
	}
	fmt.Fprintln(a.stderr, "detour:", err)
	if help := (*advised)(nil); errors.As(err, &help) {
		fmt.Fprintln(a.stderr, "  →", help.do)
	}
	switch {
	case isUsage(err):
		return usage
	case errors.Is(err, errTimedOut):
		return timedOut
	case errors.Is(err, errOvertaken):
		return overtaken
	}
	return failed
}

// isUsage reports whether what was asked is at fault.
func isUsage(err error) bool {
	for _, theirs := range []error{errUsage, command.ErrUsage, cluster.ErrInvalid, demo.ErrConfig} {
		if errors.Is(err, theirs) {
			return true
		}
	}
	return false
}

// errQuiet ends with 1 when everything was said already.
var errQuiet = errors.New("failed")

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "detour",
		Short: "Take nodes out of service on AWS without a user noticing",
		Long: `Detour keeps users served while nodes behind a load balancer are paused: their
traffic is answered with 307 to a healthy node. Nodes are in a registry on Redis
or Valkey; this program puts them there, pauses and resumes them, and tells who
is offered and why.

The registry is named by --redis and --cluster, or by DETOUR_REDIS_URL and
DETOUR_CLUSTER. From outside the VPC --function, or DETOUR_FUNCTION, names the
heartbeat function that carries commands out; AWS credentials and Region are
found as by every AWS tool, and IAM decides. "detour demo" needs none of these,
and shows it all on this machine.`,
		Example: `  detour demo
  detour register --id n1 --group blue --endpoint https://n1.example.com
  detour pause group:blue --for 10m --reason "release 42"
  detour explain https://app.example.com/cart
  detour resume group:blue`,
		Args:          subcommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,

		SuggestionsMinimumDistance: typo,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.redis, "redis", "", "registry URL, redis://… or rediss://… (default $DETOUR_REDIS_URL)")
	flags.StringVar(&a.cluster, "cluster", "", `name of the cluster (default $DETOUR_CLUSTER, else "default")`)
	flags.StringVar(&a.function, "function", "", "name of the heartbeat function to go through, from outside the VPC (default $DETOUR_FUNCTION)")
	flags.BoolVar(&a.json, "json", false, "one JSON object on standard output")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w: %w (see %q)", errUsage, err, c.CommandPath()+" --help")
	})
	root.AddCommand(a.pauseCommand(), a.resumeCommand(), a.statusCommand(), a.explainCommand(), a.passCommand(), a.registerCommand(),
		a.leaveCommand(), a.groupCommand(), a.sweepCommand(), a.rulesCommand(), a.doctorCommand(), a.agentCommand(), a.demoCommand())
	return root
}

// typo is how many letters of a command may be wrong for it to be suggested.
const typo = 2

// subcommand is for commands that do nothing by themselves.
func subcommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	meant := ""
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		meant = ": did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Errorf("%w: %s has no command %q%s (see %q)", errUsage, c.CommandPath(), args[0], meant, c.CommandPath()+" --help")
}

// exactly wants one argument for each name.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		var fault string
		switch {
		case len(args) < len(names):
			fault = "needs " + strings.Join(names[len(args):], " ")
		case len(args) > len(names):
			fault = fmt.Sprintf("does not take %q", args[len(names)])
		default:
			return nil
		}
		return fmt.Errorf("%w: %s %s (see %q)", errUsage, c.CommandPath(), fault, c.CommandPath()+" --help")
	}
}

// do runs one command, on the registry or through the function, and shows the
// result: as JSON, or by show. What is named by a flag goes before what is named
// in the environment.
func do[T any](ctx context.Context, a *app, c command.Command, show func(*T)) error {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	if name := a.throughWhom(); name != "" {
		answer, err := throughFunction(ctx, name, c)
		if err != nil {
			return err
		}
		return showAnswer(a, answer, show)
	}
	runner, err := a.runner(ctx, c)
	if err != nil {
		return err
	}
	defer func() { _ = runner.Registry.Close() }()
	result, err := runner.Run(ctx, c)
	if err != nil {
		return advise(err)
	}
	if a.json {
		return json.NewEncoder(a.stdout).Encode(result)
	}
	if typed, ok := result.(*T); ok {
		show(typed)
	}
	return nil
}

// ask carries out c and returns the result that it does not show.
func ask[T any](ctx context.Context, a *app, c command.Command) (*T, error) {
	silent := *a
	silent.json = false
	var result *T
	err := do(ctx, &silent, c, func(t *T) { result = t })
	return result, err
}

// throughWhom is the name of the function to go through, "" for none.
func (a *app) throughWhom() string {
	if a.function != "" || a.redis != "" {
		return a.function
	}
	return a.environment["DETOUR_FUNCTION"]
}

// commandLimit bounds a command as a whole; each registry call has its own.
const commandLimit = 30 * time.Second

func (a *app) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// warn shows warnings on standard error.
func (a *app) warn(warnings []string) {
	for _, w := range warnings {
		fmt.Fprintln(a.stderr, "warning:", w)
	}
}

// counted is "1 node", "2 nodes".
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
