package awsevents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/codedeploy"

	"github.com/detourhq/detour/pkg/cluster"
)

// Config says how long nodes and deployments are given.
type Config struct {
	PulseTimeout time.Duration // see [cluster.Node.Tolerance]

	// Drain is how long a node is given before its lifecycle action is completed
	// all the same, and sessions on a draining node. Zero means 5 minutes. The
	// hook's own timeout must be two minutes at least: it is lengthened meanwhile,
	// but events, and the ticks that sweeps are in, may come a minute late.
	Drain time.Duration
	// HookFor is how long a deployment's hook waits for a node that is well before
	// it fails. Zero means 10 minutes; CodeDeploy itself waits for an hour.
	HookFor time.Duration
}

const (
	defaultDrain   = 5 * time.Minute
	defaultHookFor = 10 * time.Minute
)

// registry is what is needed of a cluster.Registry.
type registry interface {
	Snapshot(ctx context.Context, wall func() time.Time) (*cluster.Snapshot, error)
	Seen(ctx context.Context, id string) (bool, error)
	MarkSeen(ctx context.Context, id string) error
	Work(ctx context.Context) (map[string]string, error)
	SwapWork(ctx context.Context, l *cluster.Lease, name, old, body string) error
	SwapPause(ctx context.Context, target cluster.Target, old int64, p *cluster.Pause, by, reason string) (int64, error)
}

// AutoScaling is what is needed of an autoscaling.Client.
type AutoScaling interface {
	CompleteLifecycleAction(context.Context, *autoscaling.CompleteLifecycleActionInput, ...func(*autoscaling.Options)) (*autoscaling.CompleteLifecycleActionOutput, error)
	RecordLifecycleActionHeartbeat(context.Context, *autoscaling.RecordLifecycleActionHeartbeatInput, ...func(*autoscaling.Options)) (*autoscaling.RecordLifecycleActionHeartbeatOutput, error)
}

// CodeDeploy is what is needed of a codedeploy.Client.
type CodeDeploy interface {
	PutLifecycleEventHookExecutionStatus(context.Context, *codedeploy.PutLifecycleEventHookExecutionStatusInput, ...func(*codedeploy.Options)) (*codedeploy.PutLifecycleEventHookExecutionStatusOutput, error)
}

// Clients are the services of AWS that are answered.
type Clients struct {
	AutoScaling AutoScaling
	CodeDeploy  CodeDeploy
}

// Handler acts on events. It keeps nothing between two calls (the registry does)
// and is safe for concurrent use.
type Handler struct {
	registry registry
	aws      Clients
	config   Config
	wall     func() time.Time
	log      *slog.Logger
}

// New returns a handler on r, a [cluster.Registry]. wall tells this machine's wall
// clock, by which the registry's time is moved on since a snapshot.
func New(r registry, aws Clients, c Config, wall func() time.Time, log *slog.Logger) *Handler {
	c.Drain = cmp.Or(c.Drain, defaultDrain)
	c.HookFor = cmp.Or(c.HookFor, defaultHookFor)
	return &Handler{registry: r, aws: aws, config: c, wall: wall, log: log}
}

// Answer says what an event led to.
type Answer struct {
	Kind    Kind     `json:"event"`
	Outcome Outcome  `json:"outcome"`
	Targets []string `json:"targets,omitempty"` // that it is about
	Paused  []string `json:"paused,omitempty"`  // targets that were paused, for this event or another
	Resumed []string `json:"resumed,omitempty"` // targets whose pause was lifted
}

// Outcome is one word for what became of an event.
type Outcome string

// The outcomes.
const (
	Ignored Outcome = "ignored" // a test notification
	Known   Outcome = "known"   // it was handled before
	Kept    Outcome = "kept"    // nobody has its target now; it waits for who does
	Taken   Outcome = "taken"   // it is about somebody, or for a hook to answer
)

// Handle does what e asks for at once, and leaves the rest to [Handler.Advance].
// The answer is an [Answer], or a [HookAnswer] to an event of kind [Stage]: that
// is what the function must answer, and it comes without an error: ECS would roll
// the deployment back. After an error the event may be handed in again, as at any
// other time. AWS is not called.
func (h *Handler) Handle(ctx context.Context, e Event) (any, error) {
	if e.Kind == Test {
		return Answer{Kind: e.Kind, Outcome: Ignored}, nil
	}
	if e.ID != "" {
		seen, err := h.registry.Seen(ctx, e.ID)
		if err != nil {
			return nil, fmt.Errorf("handle %s: %w", e.Kind, err)
		}
		if seen {
			return Answer{Kind: e.Kind, Outcome: Known}, nil
		}
	}
	answer, err := h.take(ctx, e)
	if err == nil && e.ID != "" {
		err = h.registry.MarkSeen(ctx, e.ID)
	}
	if err != nil && e.Kind == Stage {
		h.log.ErrorContext(ctx, "a deployment's hook cannot be judged, it is asked again", "err", err)
		return HookAnswer{Status: InProgress, CallBackDelay: callBackDelay}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("handle %s: %w", e.Kind, err)
	}
	return answer, nil
}

// attempts bounds how often a change is tried that others keep overtaking. What
// is left undone then the next sweep does.
const attempts = 5

func (h *Handler) take(ctx context.Context, e Event) (any, error) {
	snap, err := h.registry.Snapshot(ctx, h.wall)
	if err != nil {
		return nil, err
	}
	if err := h.put(ctx, e, snap.Time); err != nil {
		return nil, err
	}
	answer := Answer{Kind: e.Kind, Outcome: Kept}
	for range attempts {
		p, err := h.plan(ctx, snap)
		if err != nil {
			return nil, err
		}
		if e.Kind == Stage {
			return h.stage(ctx, p, e), nil
		}
		answer.about(p, e.name())
		done, err := h.settle(ctx, p)
		if err == nil {
			err = h.store(ctx, p, nil)
		}
		answer.Paused = append(answer.Paused, done.paused...)
		answer.Resumed = append(answer.Resumed, done.resumed...)
		if err != nil || !done.overtaken {
			return answer, err
		}
		if snap, err = h.registry.Snapshot(ctx, h.wall); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// about fills in what the work called name is about.
func (a *Answer) about(p *plan, name string) {
	for _, it := range p.items {
		if it.name != name {
			continue
		}
		if a.Targets = it.Targets; len(it.Targets) > 0 || it.Event.Kind == Hook {
			a.Outcome = Taken
		}
	}
}

// put merges e into the registry's work.
func (h *Handler) put(ctx context.Context, e Event, now cluster.Millis) error {
	name := e.name()
	for range attempts {
		bodies, err := h.registry.Work(ctx)
		if err != nil {
			return err
		}
		w, err := decodeWork(bodies[name])
		if err != nil { // none yet, or none that can be read
			w = work{Event: e, Since: now}
		}
		w.merge(e, now)
		body, err := w.encode()
		if err != nil || body == bodies[name] {
			return err
		}
		if err = h.registry.SwapWork(ctx, nil, name, bodies[name], body); !errors.Is(err, cluster.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("merge into work %s: %w", name, cluster.ErrConflict)
}

// plan reads the work and plans it on snap.
func (h *Handler) plan(ctx context.Context, snap *cluster.Snapshot) (*plan, error) {
	bodies, err := h.registry.Work(ctx)
	if err != nil {
		return nil, err
	}
	now, _ := snap.Now(h.wall())
	return newPlan(h.config, snap, now, bodies), nil
}
