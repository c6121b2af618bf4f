package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// registry is what an agent needs of a [cluster.Registry].
type registry interface {
	Born(ctx context.Context, id string) (cluster.Generation, cluster.Millis, error)
	Register(ctx context.Context, d cluster.Descriptor, rep cluster.Report) (cluster.Descriptor, int64, error)
	Pulse(ctx context.Context, id string, g cluster.Generation, f *cluster.Figures) (int64, error)
	Report(ctx context.Context, id string, rep cluster.Report) (int64, error)
	Leave(ctx context.Context, id string, g cluster.Generation) (int64, error)
	Epoch(ctx context.Context, c cluster.Counts) (int64, error)
	Reassert(ctx context.Context, target cluster.Target, p cluster.Pause, by string) (bool, error)
	Snapshot(ctx context.Context, wall func() time.Time) (*cluster.Snapshot, error)
}

// Config says what an agent keeps in the registry, and how.
type Config struct {
	// Descriptor is the node. Its pulse interval is set from PulseEvery. Without a
	// generation it is a new start of the node, whatever the registry holds.
	Descriptor cluster.Descriptor
	Status     cluster.Status // the first report; empty means active

	PulseEvery time.Duration // zero means 5 s
	Timeout    time.Duration // of one registry call; zero means 2 s

	// Figures returns the node's numbers of the moment. Its SeenEpoch is the newest
	// epoch that those act on who look at the registry themselves, zero where nobody
	// does; what is published is the lower one of that and the agent's own. Nil means that the node publishes none: nobody can wait for its pauses.
	Figures func() cluster.Figures
	// OnChange is told each new cover of the node, the first one only if it is
	// paused. Nil means nobody asks. Run calls both it and Figures, one at a
	// time, and does not pulse before they return.
	OnChange func(Cover)

	// Quiet returns once nothing arrives at the node any more, or with an error
	// when ctx ends: [Agent.Shutdown] waits for it. Nil means to wait for Grace,
	// in which redirects under way to the node still land there.
	Quiet func(ctx context.Context) error
	Grace time.Duration

	Log *slog.Logger // nil means none
}

const (
	defaultPulseEvery = 5 * time.Second
	defaultTimeout    = 2 * time.Second
)

// Agent keeps one life of one node in the registry. [Agent.Start] comes first,
// then [Agent.Run]; the other methods may be called from other goroutines
// between Start's return and the end, and return an error before.
type Agent struct {
	registry registry
	config   Config
	log      *slog.Logger

	wake    chan struct{} // holds a token when Run has something to do at once
	gone    chan struct{} // closed once the node has left
	telling chan struct{} // holds a token while the report is written: the registry gets them in order

	node cluster.Descriptor // Start completes it, nothing changes it after that

	// Of Run's goroutine alone.
	snapshot *cluster.Snapshot // the last one read; nil before the first
	cover    Cover             // what OnChange was told last

	// mu guards the following and is never held during a call to the registry
	// or to the node.
	mu      sync.Mutex
	started bool
	left    bool
	wish    word      // what the node says of itself
	told    bool      // whether the registry is known to hold it
	lost    time.Time // since when the registry does not answer; zero while it does
}

// word is what a report says.
type word struct {
	status cluster.Status
	reason string
}

func (w word) report(g cluster.Generation) cluster.Report {
	return cluster.Report{Generation: g, Status: w.status, Reason: w.reason}
}

var errNotStarted = errors.New("agent: not started")

// New returns an agent that has not started yet.
func New(r registry, c Config) *Agent {
	c.Status = cmp.Or(c.Status, cluster.Active)
	c.PulseEvery = cmp.Or(c.PulseEvery, defaultPulseEvery)
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	log := c.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	a := &Agent{
		registry: r, config: c, log: log.With("node", c.Descriptor.ID),
		wake: make(chan struct{}, 1), gone: make(chan struct{}), telling: make(chan struct{}, 1),
		node: c.Descriptor, wish: word{status: c.Status},
	}
	a.node.PulseMS = c.PulseEvery.Milliseconds()
	return a
}

// Start registers the node and returns once the registry holds it. A registry
// that does not answer is asked again, ever more slowly, until ctx ends: it may
// come up after the node. [cluster.ErrInvalid] comes back at once, and so do
// [cluster.ErrLeft] and [cluster.ErrSuperseded]: a newer start won the race.
func (a *Agent) Start(ctx context.Context) error {
	if err := a.node.Check(); err != nil {
		return fmt.Errorf("start agent: %w", err)
	}
	if err := a.persist(ctx, a.register); err != nil {
		return fmt.Errorf("start agent of node %s: %w", a.node.ID, err)
	}
	a.log.InfoContext(ctx, "node registered", "group", a.node.Group, "generation", a.node.Generation, "endpoint", a.node.Endpoint)
	return nil
}

// register tries once. The generation is chosen once for all tries, so that one
// whose answer was lost is the same start of the node.
func (a *Agent) register(ctx context.Context) error {
	if a.node.Generation == "" {
		if err := a.begin(ctx); err != nil {
			return err
		}
	}
	rep := word{status: a.config.Status}.report(a.node.Generation)
	err := a.ask(ctx, func(ctx context.Context) error {
		_, _, err := a.registry.Register(ctx, a.node, rep)
		return err
	})
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.started, a.told = true, true
	return nil
}

// begin gives the node a generation of its own, later than those that the
// registry knows, even where the descriptor is the same: its predecessor may
// still be shutting down.
func (a *Agent) begin(ctx context.Context) error {
	return a.ask(ctx, func(ctx context.Context) error {
		g, now, err := a.registry.Born(ctx, a.node.ID)
		if err != nil {
			return err
		}
		a.node.Generation = g
		a.node.Started = cmp.Or(a.node.Started, now)
		return nil
	})
}
