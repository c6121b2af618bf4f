package demo

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Config says what is deployed, and under which load. Zero fields take the
// default.
type Config struct {
	Rounds int // how often every node gets a new version; default 1
	Rate   int // requests per second, answered or not; default 250
	Nodes  int // of each of the two groups; default 3

	// RedisURL is that of the registry, as [cluster.Dial] takes it; empty means an
	// embedded one. A cluster of a random name is made in it, and removed at the
	// end.
	RedisURL string

	// WithoutDetour deploys node by node with nothing but the load balancer's
	// health checks, as is done where there is no Detour.
	WithoutDetour bool

	// Binary is the path of the redirect function, built for this machine. Empty
	// means that it is built, with the go tool, from the module around ModuleDir
	// (default ".").
	Binary    string
	ModuleDir string

	pace pace // zero means usual
}

// pace is how long the parts of a deployment take.
type pace struct {
	steady time.Duration // nothing is deployed: before, between and after the steps
	quiet  time.Duration // without arrivals since a pause, until a node counts as drained
	down   time.Duration // from the stop of a node to the start of its new version
	check  time.Duration // interval of the load balancer's health checks
	limit  time.Duration // of each single wait
}

// usual gives a round of about 25 s.
func usual() pace {
	return pace{
		steady: 2200 * time.Millisecond, quiet: 2 * time.Second, down: 600 * time.Millisecond,
		check: 200 * time.Millisecond, limit: 20 * time.Second,
	}
}

// ErrConfig reports a [Config] that cannot be meant. The text around it says
// why.
var ErrConfig = errors.New("demo: invalid configuration")

const (
	maxRounds = 1000
	maxRate   = 5000
	maxNodes  = 100 // of a group: each has a host of its own in 127.0.0.0/24
)

func (c Config) withDefaults() (Config, error) {
	c.Rounds = cmp.Or(c.Rounds, 1)
	c.Rate = cmp.Or(c.Rate, 250)
	c.Nodes = cmp.Or(c.Nodes, 3)
	c.ModuleDir = cmp.Or(c.ModuleDir, ".")
	c.pace = cmp.Or(c.pace, usual())
	for _, n := range []struct {
		what       string
		value, max int
	}{
		{"rounds", c.Rounds, maxRounds},
		{"requests per second", c.Rate, maxRate},
		{"nodes of each group", c.Nodes, maxNodes},
	} {
		if n.value < 1 || n.value > n.max {
			return c, fmt.Errorf("%w: %d %s, not 1 to %d", ErrConfig, n.value, n.what, n.max)
		}
	}
	return c, nil
}
