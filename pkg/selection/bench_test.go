package selection

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/detourhq/detour/pkg/cluster"
)

// fleet returns a snapshot of n well nodes in two groups, the first of them paused.
func fleet(n int) *cluster.Snapshot {
	s := &cluster.Snapshot{
		Pauses: map[cluster.Target]cluster.Pause{cluster.GroupTarget("blue"): {Mode: cluster.Redirect}},
		Groups: map[string]cluster.Group{},
	}
	for i := range n {
		node := well(fmt.Sprintf("n%05d", i), "green")
		if i%2 == 0 {
			node.Group = "blue"
		}
		node.Weight = float64(50 + i%100)
		node.Figures = &cluster.Figures{Load: float64(i % 7)}
		s.Nodes = append(s.Nodes, node)
	}
	return s
}

func BenchmarkPick(b *testing.B) {
	for _, p := range policies {
		for _, n := range []int{10, 100, 1_000, 10_000} {
			b.Run(fmt.Sprintf("policy=%s/nodes=%d", p, n), func(b *testing.B) {
				table := NewTable(fleet(n), now, Config{Policy: p, PulseTimeout: timeout, FadeIn: fadeIn})
				q := Query{Group: "blue", Path: "/shop/cart", Visited: []Mark{MarkOf("n00001")}, Key: "192.0.2.7"}
				rnd := rand.New(rand.NewPCG(1, 2))
				b.ReportAllocs()
				for b.Loop() {
					if _, outcome := table.Pick(q, now, rnd); outcome != Picked {
						b.Fatal(outcome)
					}
				}
			})
		}
	}
}

func BenchmarkNewTable(b *testing.B) {
	for _, p := range []Policy{Random, Rendezvous} {
		b.Run("nodes=10000/policy="+string(p), func(b *testing.B) {
			s := fleet(10_000)
			b.ReportAllocs()
			for b.Loop() {
				NewTable(s, now, Config{Policy: p, PulseTimeout: timeout, FadeIn: fadeIn})
			}
		})
	}
}
