package selection

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRoundRobinTakesEqualNodesInAStrictCycle(t *testing.T) {
	for n := 1; n <= 12; n++ {
		s := nodes()
		for i := range n {
			s.Nodes = append(s.Nodes, well(fmt.Sprintf("n%d", i), "g"))
		}
		table, rnd := NewTable(s, now, config(RoundRobin)), seeded(t)
		var order []string
		for range 5 * n {
			order = append(order, picked(table.Pick(Query{}, now, rnd)))
		}
		seen := map[string]bool{}
		for i, id := range order {
			seen[id] = true
			if i >= n {
				assert.Equal(t, order[i-n], id)
			}
		}
		assert.Len(t, seen, n)
	}
}

func TestRoundRobinKeepsToWeightsAtEveryLength(t *testing.T) {
	s := nodes(well("a", "g", weight(8)), well("b", "g", weight(1)), well("c", "g", weight(3.5)))
	table, rnd := NewTable(s, now, config(RoundRobin)), seeded(t)
	counts := map[string]float64{}
	for i := 1.0; i <= 3000; i++ {
		counts[picked(table.Pick(Query{}, now, rnd))]++
		for _, n := range s.Nodes {
			assert.InDelta(t, n.Weight/12.5*i, counts[n.ID], 8, "a random draw strays by dozens")
		}
	}
}

func TestRoundRobinPassesOverAnExcludedNodeFairly(t *testing.T) {
	s := nodes(well("a", "g"), well("b", "g"), well("c", "g"))
	table, rnd := NewTable(s, now, config(RoundRobin)), seeded(t)
	counts := map[string]int{}
	for range samples {
		counts[picked(table.Pick(Query{Visited: []Mark{MarkOf("a")}}, now, rnd))]++
	}
	assertShares(t, map[string]float64{"b": 1, "c": 1}, counts)
}

// lockedSource makes any source safe for concurrent use.
type lockedSource struct {
	mu  sync.Mutex
	rnd Source
}

func (l *lockedSource) Uint64() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rnd.Uint64()
}

func TestATableIsSafeForConcurrentUse(t *testing.T) {
	s := nodes(well("a", "g"), well("b", "g"), well("c", "g"), well("d", "g"))
	for _, p := range policies {
		table, rnd := NewTable(s, now, config(p)), &lockedSource{rnd: seeded(t)}
		var mu sync.Mutex
		counts := map[string]int{}
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for i := range 50 {
					id := picked(table.Pick(Query{Key: fmt.Sprintf("%d-%d", w, i)}, now, rnd))
					mu.Lock()
					counts[id]++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		assert.Len(t, counts, 4, p)
		if p == RoundRobin {
			assert.Equal(t, map[string]int{"a": 100, "b": 100, "c": 100, "d": 100}, counts, "no turn is lost or taken twice")
		}
	}
}
