package sweep

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// Config says when nodes are pruned.
type Config struct {
	PulseTimeout time.Duration // see [cluster.Node.Tolerance]
	PruneAfter   time.Duration // silence beyond a node's tolerance after which it may be pruned
	PruneMax     float64       // most of all nodes that one sweep prunes, 0 to 1; one node always may be
	// Then is called under the lease after a pass that ended well, for what else is
	// to be done by one sweeper alone; its error is the sweep's. Nil is nothing.
	Then func(context.Context, cluster.Lease) error

	Probe bool // whether stale nodes are asked; if not, each counts as one without a probe

	// LeaseTTL is how long the lease lasts if its holder ends without giving it
	// up. It must be longer than a sweep. Probes take at most half of it, or of the
	// time that the sweep's context leaves if that is less. Zero means 30 s.
	LeaseTTL time.Duration
}

// Result is what a sweep found and did. Ids are in no order.
type Result struct {
	Nodes    int  `json:"nodes"`     // registered when the sweep began
	Stale    int  `json:"stale"`     // of these, after those whose probe answered were stamped
	AllStale bool `json:"all_stale"` // whether this is every one of one or more

	Pruned    int      `json:"pruned"` // how many PrunedIDs there are
	PrunedIDs []string `json:"pruned_ids,omitempty"`
	Returned  []string `json:"returned,omitempty"` // stale nodes whose probe answered
	Stamped   []string `json:"stamped,omitempty"`  // nodes whose pulse lay in the future
	Mended    []string `json:"mended,omitempty"`   // ids that had a part of a record only
	Ended     []string `json:"ended,omitempty"`    // targets whose pause ended

	Held     bool   `json:"held"`               // another sweeper has the lease; nothing was done
	Withheld string `json:"withheld,omitempty"` // why nobody was to be pruned; empty if silent nodes were
}

// registry is what a sweep needs of a cluster.Registry.
type registry interface {
	AcquireLease(ctx context.Context, token string, ttl time.Duration) (cluster.Lease, error)
	ReleaseLease(ctx context.Context, l cluster.Lease) error
	Notes(ctx context.Context) (cluster.SweepNotes, error)
	Snapshot(ctx context.Context, wall func() time.Time) (*cluster.Snapshot, error)
	Time(ctx context.Context) (cluster.Millis, error)
	Epoch(ctx context.Context, c cluster.Counts) (int64, error)
	Stamp(ctx context.Context, l cluster.Lease, nodes []cluster.Node) error
	Mend(ctx context.Context, l cluster.Lease, s *cluster.Snapshot) ([]string, error)
	Tidy(ctx context.Context, l cluster.Lease, notes cluster.SweepNotes, targets []cluster.Target) ([]string, error)
	Prune(ctx context.Context, l cluster.Lease, nodes []cluster.Node) ([]string, error)
	Forget(ctx context.Context, l cluster.Lease) ([]string, error)
}

// Sweeper sweeps one registry. It keeps nothing from one sweep to the next (the
// registry does) and is safe for concurrent use.
type Sweeper struct {
	registry registry
	config   Config
	probes   *http.Client
	wall     func() time.Time
	log      *slog.Logger
}

const defaultLeaseTTL = 30 * time.Second

// New returns a sweeper of r, a [cluster.Registry]. Probes go through transport,
// or, if that is nil, through one that keeps no connection and knows no proxy.
// wall tells this machine's wall clock, by which nothing is judged.
func New(r registry, c Config, transport http.RoundTripper, wall func() time.Time, log *slog.Logger) *Sweeper {
	c.LeaseTTL = cmp.Or(c.LeaseTTL, defaultLeaseTTL)
	return &Sweeper{registry: r, config: c, probes: newProbes(transport), wall: wall, log: log}
}

// Sweep makes one pass. When another sweeper is at it, it does nothing, and the
// result says so: that is no error. After an error (one that wraps
// [cluster.ErrFenced] if another sweeper has taken over) the result holds what
// was done until then, and the next sweep does the rest.
func (s *Sweeper) Sweep(ctx context.Context) (Result, error) {
	// The token is that of this pass: two at once on one Sweeper are two sweepers.
	lease, err := s.registry.AcquireLease(ctx, rand.Text(), s.config.LeaseTTL)
	if errors.Is(err, cluster.ErrHeld) {
		return Result{Held: true}, nil
	}
	if err != nil {
		return Result{}, fmt.Errorf("sweep: %w", err)
	}
	defer s.release(ctx, lease)
	p := pass{Sweeper: s, lease: lease}
	err = p.run(ctx)
	if err == nil && s.config.Then != nil {
		err = s.config.Then(ctx, lease)
	}
	if err != nil {
		return p.result, fmt.Errorf("sweep: %w", err)
	}
	return p.result, nil
}

const releaseTimeout = time.Second

// release gives the lease up, even when ctx is over. Where that cannot be done
// the lease ends by itself.
func (s *Sweeper) release(ctx context.Context, l cluster.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := s.registry.ReleaseLease(ctx, l); err != nil {
		s.log.WarnContext(ctx, "lease was not given up, it ends by itself", "after", s.config.LeaseTTL, "err", err)
	}
}
