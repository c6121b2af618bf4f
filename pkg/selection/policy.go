package selection

import (
	"fmt"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// Policy is a way to choose among the nodes that are offered.
type Policy string

// The policies.
const (
	// Random draws by weight. It needs no memory, so that any number of copies
	// that start at any time share the traffic out rightly.
	Random Policy = "random"
	// RoundRobin takes nodes in turn, each as often as its weight asks, from a
	// start drawn at random. The turn is kept per table, not across copies.
	RoundRobin Policy = "round-robin"
	// LeastLoad draws two by weight and takes the one that reports the lower load
	// (Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing",
	// 2001): it bears old figures, where taking the lowest of all makes a herd.
	LeastLoad Policy = "least-load"
	// Rendezvous sends the same client to the same node from every copy, and moves
	// only the clients of a node that leaves. It looks at each node of the pool.
	Rendezvous Policy = "rendezvous"
)

// ParsePolicy reads a policy; empty means [Random]. The error wraps
// [cluster.ErrInvalid].
func ParsePolicy(s string) (Policy, error) {
	switch p := Policy(s); p {
	case "":
		return Random, nil
	case Random, RoundRobin, LeastLoad, Rendezvous:
		return p, nil
	}
	return "", fmt.Errorf("%w: policy %q is none of random, round-robin, least-load, rendezvous", cluster.ErrInvalid, s)
}

// Config is how nodes are chosen.
type Config struct {
	Policy       Policy        // empty means Random
	PulseTimeout time.Duration // how long a node may be silent, see [cluster.Node.Stale]
	FadeIn       time.Duration // from a node's start to its full share; zero means none
}

// Source draws random numbers, all 64-bit values alike; the Rand of math/rand/v2
// is one. A source that is used from several goroutines must be safe for that.
type Source interface{ Uint64() uint64 }

// unit returns a number of [0, 1) from the upper 53 bits of the next draw.
func unit(rnd Source) float64 { return float64(rnd.Uint64()>>11) * 0x1p-53 }
