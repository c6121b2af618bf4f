package cluster

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Generation is one life of a node, from a start to the next:
// "<registry ms>-<random>". Later lives compare greater.
type Generation string

// NewGeneration returns the generation of a node that starts at now. It is later
// than each of before, the node's lives that are known: two starts may share a
// millisecond, and a failover may set the clock back.
func NewGeneration(now Millis, before ...Generation) Generation {
	for _, g := range before {
		if ms, _ := g.split(); ms >= int64(now) {
			now = Millis(ms + 1)
		}
	}
	return Generation(fmt.Sprintf("%013d-%08x", now, rand.Uint32()))
}

// Less reports whether g is an earlier life than o. Anything out of form is
// earlier than anything in form.
func (g Generation) Less(o Generation) bool {
	gms, grand := g.split()
	oms, orand := o.split()
	if gms != oms {
		return gms < oms
	}
	return grand < orand
}

func (g Generation) split() (int64, string) {
	ms, random, _ := strings.Cut(string(g), "-")
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil || n > int64(forever) {
		return -1, string(g) // beyond what a script's numbers hold
	}
	return n, random
}
