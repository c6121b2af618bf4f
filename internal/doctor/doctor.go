package doctor

import (
	"context"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// Config is what the set-up was told, as far as checks ask for it.
type Config struct {
	Cluster      string        // its name
	TLS          bool          // the registry is reached by it
	Local        bool          // the registry is on this machine
	PulseEvery   time.Duration // see [cluster.Node.Tolerance]
	PulseTimeout time.Duration
	SweepEvery   time.Duration
	PruneAfter   time.Duration
	AllowedHosts []string
	Origins      bool   // some are configured
	TargetGroup  string // ARN of the redirect function's target group, for groups that name none
}

// registry is what is read of a cluster.Registry.
type registry interface {
	Time(ctx context.Context) (cluster.Millis, error)
	Snapshot(ctx context.Context, wall func() time.Time) (*cluster.Snapshot, error)
	Server(ctx context.Context) (cluster.Server, error)
	Notes(ctx context.Context) (cluster.SweepNotes, error)
	RuleWork(ctx context.Context) (map[string]string, error)
}

// Doctor examines one set-up.
type Doctor struct {
	registry registry
	config   Config
	aws      *AWS
	wall     func() time.Time
}

// New returns a doctor of r, a [cluster.Registry]. A nil a is no AWS to call: its
// checks are skipped. wall tells this machine's wall clock.
func New(r registry, c Config, a *AWS, wall func() time.Time) *Doctor {
	return &Doctor{registry: r, config: c, aws: a, wall: wall}
}

// Examine makes every check that can be made. That the registry is not reached is
// a finding like another, though the only one.
func (d *Doctor) Examine(ctx context.Context) Report {
	f, err := d.gather(ctx)
	if err != nil {
		report := Report{Checked: 1}
		report.add(Finding{
			"registry", Wrong, "", "the registry is not reached: " + err.Error(),
			"look at DETOUR_REDIS_URL, security groups and subnets, and whether the server runs",
		})
		for _, c := range checks {
			report.Skipped = append(report.Skipped, Skipped{c.name, "the registry is not reached"})
		}
		return report
	}
	return examine(f)
}

// examine makes the checks for which there are facts.
func examine(f *facts) Report {
	report := Report{Findings: []Finding{}, Skipped: []Skipped{}}
	for _, c := range checks {
		if why := f.missing[c.needs]; why != "" {
			report.Skipped = append(report.Skipped, Skipped{c.name, why})
			continue
		}
		report.Checked++
		c.run(f, func(s Severity, about, what, do string) {
			report.add(Finding{c.name, s, about, what, do})
		})
	}
	return report
}

// teller takes one finding of a check.
type teller func(s Severity, about, what, do string)

// check looks for one kind of fault.
type check struct {
	name  string
	needs part // what it asks for besides the snapshot
	run   func(f *facts, tell teller)
}

var checks = []check{
	{"round-trip", snapshot, roundTrip},
	{"role", server, role},
	{"version", server, version},
	{"eviction", server, eviction},
	{"tls", snapshot, encryption},
	{"clock", snapshot, clock},
	{"records", snapshot, records},
	{"stale", snapshot, stale},
	{"figures", snapshot, figures},
	{"scheme", snapshot, scheme},
	{"private", snapshot, private},
	{"pulse-interval", snapshot, pulseInterval},
	{"peers", snapshot, peers},
	{"fallbacks", snapshot, fallbacks},
	{"routes", snapshot, routes},
	{"origin", snapshot, origin},
	{"sources", snapshot, sources},
	{"pulse-timeout", snapshot, pulseTimeout},
	{"prune", snapshot, prune},
	{"sweep", notes, lastSweep},
	{"pauses", snapshot, pauses},
	{"rule-state", memory, ruleState},
	{"rule-sink", snapshot, ruleSink},
	{"rule", balancer, rule},
	{"rule-forward", balancer, ruleForward},
	{"rule-claim", balancer, ruleClaim},
	{"redirect-target-group", targets, redirectTargetGroup},
	{"load-balancer", targets, sameBalancer},
	{"multi-value", targets, multiValue},
	{"health-check", targets, healthCheck},
	{"lifecycle-hooks", scaling, lifecycleHooks},
}
