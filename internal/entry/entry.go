package entry

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// node is what an entry needs of an [agent.Agent].
type node interface {
	Start(ctx context.Context) error
	Run(ctx context.Context) error
	SetStatus(ctx context.Context, s cluster.Status, reason string) error
	Pause(ctx context.Context, reason string) error
	Leave(ctx context.Context) error
}

// Config says what an entry keeps together.
type Config struct {
	App  *App // nil where somebody else runs the application
	Node node // not started yet

	// Ready returns once the application answers, or with the reason why it is no
	// longer waited for. Then the node reports Status. Nil means that what the node
	// said first stands.
	Ready  func(ctx context.Context) error
	Status cluster.Status
	Watch  *Watch // from then on; nil means that nobody asks how the application is

	// Signals are those that this process gets, see [Signals]. The first order to
	// end begins the end, each further one cuts short the step that is under way.
	Signals <-chan os.Signal

	// The node is quiet when by Gate's figures nothing was in flight and nothing
	// arrived for Silence; without a gate, or where nobody asks it, after Grace.
	Gate    *Valve
	Silence time.Duration
	Grace   time.Duration

	DrainTimeout time.Duration // for publishing the pause and becoming quiet, together
	StopTimeout  time.Duration // of the application, from its SIGTERM to its SIGKILL
	AskTimeout   time.Duration // for the last words to the registry, each; zero means 2 s

	Log *slog.Logger
}

const (
	defaultAskTimeout = 2 * time.Second
	publishLimit      = 10 * time.Second // a pause that is not published by then is not waited for
	killLimit         = 2 * time.Second  // for the kernel to carry out a SIGKILL
)

// Entry is one run of an application and its node.
type Entry struct {
	Config
	stopStart, stopReady context.CancelFunc
	started              chan struct{} // closed once the registry holds the node
	announced            chan struct{} // closed once neither Ready nor Watch will change the node's status any more
	kept                 chan error    // how the node's agent ended
	ready                chan error    // what became of Ready
}

// New returns an entry that does not run yet.
func New(c Config) *Entry {
	c.AskTimeout = cmp.Or(c.AskTimeout, defaultAskTimeout)
	return &Entry{
		Config: c, started: make(chan struct{}), announced: make(chan struct{}),
		kept: make(chan error, 1), ready: make(chan error, 1),
	}
}

// Run keeps the node until it is told to end, the application ends, or a newer
// start has the node's id. It returns the code to end with: the application's, 0
// where there is none, or 1 with an error. The registry may be down all the time.
func (e *Entry) Run(ctx context.Context) (code int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e.begin(ctx)
	for {
		select {
		case s := <-e.Signals:
			if isOrder(s) {
				return e.end(ctx, s)
			}
			e.handOn(s)
		case <-e.appEnded():
			return e.lose(ctx), nil
		case err := <-e.ready:
			if err != nil {
				return 1, e.giveUp(ctx, err)
			}
		case err := <-e.kept:
			if err != nil {
				return 1, e.withdraw(ctx, err)
			}
			if e.App == nil {
				return 0, nil
			}
			e.Log.WarnContext(ctx, "somebody took the node out of the registry: the application runs on without it")
		}
	}
}

// begin has the node registered, and its status reported when it is ready.
func (e *Entry) begin(ctx context.Context) {
	var starting, readying context.Context
	starting, e.stopStart = context.WithCancel(ctx)
	readying, e.stopReady = context.WithCancel(ctx)
	go func() {
		err := e.Node.Start(starting)
		if err == nil {
			close(e.started)
			err = e.Node.Run(ctx)
		}
		e.kept <- err
	}()
	go func() {
		defer close(e.announced)
		if e.Ready != nil {
			err := e.announce(readying)
			if e.ready <- err; err != nil {
				return
			}
		}
		if e.Watch != nil {
			e.watch(readying)
		}
	}()
}

// announce reports the node's status once the application is ready and the
// registry holds the node.
func (e *Entry) announce(ctx context.Context) error {
	if err := e.Ready(ctx); err != nil {
		return err
	}
	e.Log.InfoContext(ctx, "application is ready", "status", e.Status)
	select {
	case <-e.started:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := e.Node.SetStatus(ctx, e.Status, ""); err != nil {
		e.Log.WarnContext(ctx, "readiness not published", "err", err) // the agent, if it lives, tells it later
	}
	return nil
}

// appEnded is nil, which waits for ever, where there is no application.
func (e *Entry) appEnded() <-chan struct{} {
	if e.App == nil {
		return nil
	}
	return e.App.Ended()
}

func (e *Entry) handOn(s os.Signal) {
	if e.App == nil {
		return
	}
	if err := e.App.signal(s); err != nil {
		e.Log.Warn("signal not handed on", "err", err)
	}
}
