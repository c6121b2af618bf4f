package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/detourhq/detour/internal/agent"
	"github.com/detourhq/detour/internal/config"
	"github.com/detourhq/detour/internal/entry"
	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/gate"
)

// runAgent keeps the node, and its application, until both have ended.
func (a *app) runAgent(ctx context.Context, f *agentFlags, ownPulse bool) error {
	d, err := f.node.node()
	if err != nil {
		return err
	}
	settings, err := a.settings()
	if err != nil {
		return err
	}
	if !ownPulse {
		f.pulseEvery = settings.PulseEvery
	}
	if f.pulseEvery < time.Millisecond {
		return fmt.Errorf("%w: --pulse-every, or DETOUR_PULSE_EVERY, is %s, less than 1ms", errUsage, f.pulseEvery)
	}
	registry, err := settings.Open()
	if err != nil {
		return err
	}
	defer func() { _ = registry.Close() }()
	signals, stop := orders(ctx, len(f.command) > 0)
	defer stop()
	ctx = context.WithoutCancel(ctx) // its end is an order to end, see orders
	log := slog.New(slog.NewTextHandler(a.stderr, nil))
	valve, closeGate, err := f.openGate(ctx, d.ID, log)
	if err != nil {
		return err
	}
	defer closeGate()
	program, err := a.startProgram(ctx, f.command)
	if err != nil {
		return err
	}
	a.place(ctx, &d, log)
	e := entry.New(f.entry(registry, d, settings, valve, log)) //nolint:contextcheck // the valve has the context of openGate
	e.App, e.Signals = program, signals
	code, err := e.Run(ctx)
	if err != nil {
		return err
	}
	return ended(code)
}

// startProgram returns nil where there is none to start.
func (a *app) startProgram(ctx context.Context, command []string) (*entry.App, error) {
	if len(command) == 0 {
		return nil, nil
	}
	program, err := entry.Start(ctx, command, a.stdout, a.stderr)
	if start := (*entry.StartError)(nil); errors.As(err, &start) {
		return nil, &exitError{code: start.ExitCode(), err: err}
	}
	return program, err
}

// entry returns all that an entry needs but the application and its signals.
func (f *agentFlags) entry(registry *cluster.Registry, d cluster.Descriptor, settings config.Heartbeat, valve *entry.Valve, log *slog.Logger) entry.Config {
	first := cluster.Status(f.node.status)
	node := agent.Config{Descriptor: d, Status: first, PulseEvery: f.pulseEvery, Timeout: settings.Timeout, Log: log}
	c := entry.Config{
		Status: first, Gate: valve, Silence: f.quiet, Grace: f.grace,
		DrainTimeout: f.drainTimeout, StopTimeout: f.stopTimeout, AskTimeout: settings.Timeout, Log: log,
	}
	direct := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true}, // nor by a proxy: the application is here
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if f.ready != "" {
		node.Status = cluster.Starting
		c.Ready = entry.Answering(direct, f.ready, f.readyTimeout)
	}
	c.Watch = &entry.Watch{Every: f.pulseEvery, Most: f.maxInFlight}
	if d.Probe != "" {
		c.Watch.Probe = entry.Answers(direct, d.Probe)
	}
	if valve != nil {
		node.Figures = valve.Figures
	}
	node.OnChange = func(cover agent.Cover) {
		if valve != nil {
			valve.Obey(cover)
		}
		c.Watch.Obey(cover)
	}
	c.Node = agent.New(registry, node)
	return c
}

// openGate opens the gate's socket, and returns it with what closes it; nil where
// there is none.
func (f *agentFlags) openGate(ctx context.Context, node string, log *slog.Logger) (*entry.Valve, func(), error) {
	if f.gate == "" {
		log.WarnContext(ctx, `no --gate counts this node's requests: that none arrives after a pause cannot be proved, and "detour pause --wait" refuses`, "grace", f.grace)
		return nil, func() {}, nil
	}
	socket, err := gate.Listen(f.gate, gate.SocketConfig{}) //nolint:contextcheck // it opens at once, and is closed by hand
	if err != nil {
		return nil, nil, &advised{err, "name a path in a folder that is there, and that this user may write to: --gate /run/detour/gate.sock"}
	}
	ctx, cancel := context.WithCancel(ctx)
	return entry.NewValve(ctx, socket, node, f.quiet, log), func() { cancel(); _ = socket.Close() }, nil
}

// orders returns the signals for an entry. The end of ctx counts as one, unless a
// signal ended it, which is among them already.
func orders(ctx context.Context, app bool) (signals chan os.Signal, stop func()) {
	const most = 16 // signals that nobody has looked at yet
	signals = make(chan os.Signal, most)
	signal.Notify(signals, entry.Signals(app)...)
	forget := context.AfterFunc(ctx, func() {
		if context.Cause(ctx) == ctx.Err() { //nolint:errorlint // a signal's cause says that it is one too, but is another error
			signals <- os.Interrupt // the only one that is not from the system: it finds room
		}
	})
	return signals, func() {
		forget()
		signal.Stop(signals)
	}
}
