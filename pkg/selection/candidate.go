package selection

import (
	"math"
	"strings"

	"github.com/detourhq/detour/pkg/cluster"
)

// candidate is all that picking needs of one node, small enough for a cache line.
type candidate struct {
	node    *cluster.Node
	weight  float64        // above 0, at most maxWeight
	load    float64        // not a number where the node publishes no figures
	fresh   cluster.Millis // the last instant at which it is not stale
	started cluster.Millis
	hash    uint64 // of the id; for Rendezvous only
	mark    Mark
	secure  bool // reached by https
}

func newCandidate(n *cluster.Node, c Config) candidate {
	weight, _ := share(n.Weight)
	k := candidate{node: n, weight: weight, load: math.NaN(), fresh: n.FreshUntil(c.PulseTimeout), started: n.Started, mark: MarkOf(n.ID), secure: strings.HasPrefix(n.Endpoint, "https:")}
	if n.Figures != nil {
		k.load = n.Figures.Load
	}
	if c.Policy == Rendezvous {
		k.hash = hashOf(n.ID)
	}
	return k
}

// maxWeight is the largest weight that counts, so that sums stay exact enough:
// whatever is larger, infinity included, counts as this.
const maxWeight = 1e6

// share returns the weight that counts, and false if the node has none: zero,
// negative or not a number. Such nodes share alike among themselves.
func share(weight float64) (w float64, ok bool) {
	if !(weight > 0) { // unlike weight <= 0, true for NaN
		return 1, false
	}
	return min(weight, maxWeight), true
}

// tier is a class of nodes: a later one is looked at only when the earlier ones
// have nobody left, neither in the origin's group nor elsewhere.
type tier int

const (
	app tier = iota
	appNoWeight
	standby
	standbyNoWeight
	tiers
)

// tierOf returns the class of n, and false if its role is never offered.
func tierOf(n *cluster.Node) (t tier, ok bool) {
	switch n.Role {
	case "", cluster.App:
		t = app
	case cluster.Standby:
		t = standby
	default:
		return 0, false
	}
	if _, ok := share(n.Weight); !ok {
		t++
	}
	return t, true
}
