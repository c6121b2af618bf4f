package gate

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/redirect"
	"github.com/detourhq/detour/pkg/selection"
)

// Source gives the registry as it is; a [cluster.Cache] is one. Beside a snapshot
// that is not from the registry it returns an error that says why.
type Source interface {
	Snapshot(ctx context.Context) (*cluster.Snapshot, cluster.Origin, error)
}

// Config says which node a gate guards, and how. Node and Source are required.
type Config struct {
	Node   string // id
	Source Source
	Every  time.Duration // the source is asked so often; zero means 500 ms, and more than 1 s means 1 s

	// Redirect is how the gate redirects. MaxRedirects, RetryAfter and PulseTimeout
	// default to 3, 5 s and 15 s. Origins are the gate's own matter: all that arrives
	// is meant for the node.
	Redirect redirect.Config

	HoldMax       time.Duration // a request waits no longer for a pause of mode hold; zero means 10 s
	StartHold     time.Duration // nor, where the node reports starting, for it to be active; zero means 10 s
	MaxHeld       int           // requests that wait at once; zero means 1000
	HeldPerSource int           // and of one client, see [redirect.Request.Client]; zero means a tenth of MaxHeld, one at least

	// HealthPath is where a load balancer asks after the node, beside /_health:
	// 503 while the node is paused or starting, and else Health's answer; nil
	// means 200.
	HealthPath string
	Health     http.Handler
	ProbePath  string // always answered by the application, and counted nowhere; empty means none

	// Sessions returns how many sessions the node has. Nil means to estimate by
	// those seen: a session, by its group's cookie or else Redirect's, counts until it is silent
	// for SessionIdle (zero means 15 min), or up to twice that. Beyond 100,000 the
	// estimate is too low.
	Sessions    func() int64
	SessionIdle time.Duration

	// Load returns how busy the node is, on a scale that all nodes share: of two, the
	// policy least-load takes the one with less. Nil means the requests in flight.
	Load func() float64

	Report      string // path of the socket that the gate reports its figures to; empty means none
	HideCluster bool   // no answer at /_detour/cluster

	Random selection.Source // safe for concurrent use; nil means the generator of the process
	Now    func() time.Time // this machine's wall clock; nil means time.Now
	Log    *slog.Logger     // nil means none
}

const (
	defaultHealthPath = "/_health"
	clusterPath       = "/_detour/cluster"
	epochKey          = "X-Detour-Epoch"
	mostEvery         = time.Second // a pause is obeyed within this
)

func (c Config) withDefaults() Config {
	c.Every = min(cmp.Or(c.Every, mostEvery/2), mostEvery)
	c.Redirect.MaxRedirects = cmp.Or(c.Redirect.MaxRedirects, 3)
	c.Redirect.RetryAfter = cmp.Or(c.Redirect.RetryAfter, 5*time.Second)
	c.Redirect.Selection.PulseTimeout = cmp.Or(c.Redirect.Selection.PulseTimeout, 15*time.Second)
	c.HoldMax = cmp.Or(c.HoldMax, 10*time.Second)
	c.StartHold = cmp.Or(c.StartHold, 10*time.Second)
	c.MaxHeld = cmp.Or(c.MaxHeld, 1000)
	c.HeldPerSource = cmp.Or(c.HeldPerSource, max(c.MaxHeld/10, 1))
	c.HealthPath = cmp.Or(c.HealthPath, defaultHealthPath)
	c.SessionIdle = cmp.Or(c.SessionIdle, 15*time.Minute)
	if c.Random == nil {
		c.Random = global{}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Log = c.Log.With("node", c.Node)
	return c
}
