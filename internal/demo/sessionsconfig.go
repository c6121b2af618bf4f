package demo

import (
	"cmp"
	"fmt"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// SessionsConfig says how the nodes of a shop with sessions are deployed, and under
// which load. Zero fields take the default.
type SessionsConfig struct {
	Rounds   int    // as of [Config]
	Rate     int    // requests per second of all customers, on average; default 250
	Nodes    int    // two at least: a node that is drained leaves its newcomers to others; default 3
	RedisURL string // as of [Config]

	Mode     cluster.Mode  // of the pauses, [cluster.Drain] or [cluster.Redirect]; default drain
	Deadline time.Duration // when a drain becomes a redirect; zero means never

	pace sessionsPace // zero means usual
}

// sessionsPace is how long the parts of it take.
type sessionsPace struct {
	think time.Duration // of a customer, between two requests
	look  time.Duration // how often a gate looks for pauses
	pace
}

// usualSessions gives a round of about 25 s.
func usualSessions() sessionsPace {
	p := sessionsPace{think: 200 * time.Millisecond, look: 500 * time.Millisecond, pace: usual()}
	p.steady, p.quiet = time.Second, time.Second
	return p
}

const minShopNodes = 2

func (c SessionsConfig) withDefaults() (SessionsConfig, error) {
	// What both demos have is checked by the other one's rules.
	both, err := Config{Rounds: c.Rounds, Rate: c.Rate, Nodes: c.Nodes}.withDefaults()
	if err != nil {
		return c, err
	}
	c.Rounds, c.Rate, c.Nodes = both.Rounds, both.Rate, both.Nodes
	c.Mode = cmp.Or(c.Mode, cluster.Drain)
	c.pace = cmp.Or(c.pace, usualSessions())
	switch {
	case c.Nodes < minShopNodes:
		return c, fmt.Errorf("%w: %d node, which has nobody to leave newcomers to", ErrConfig, c.Nodes)
	case c.Mode != cluster.Drain && c.Mode != cluster.Redirect:
		return c, fmt.Errorf("%w: mode %q is none of drain, redirect", ErrConfig, c.Mode)
	case c.Deadline != 0 && c.Deadline < time.Millisecond:
		return c, fmt.Errorf("%w: deadline %s is less than 1ms", ErrConfig, c.Deadline)
	case c.Deadline != 0 && c.Mode != cluster.Drain:
		return c, fmt.Errorf("%w: only a drain has a deadline", ErrConfig)
	}
	return c, nil
}
