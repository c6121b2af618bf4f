package selection

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/pkg/cluster"
)

const (
	now     = cluster.Millis(1_700_000_000_000)
	timeout = 15 * time.Second
	fadeIn  = 30 * time.Second
)

var policies = []Policy{Random, RoundRobin, LeastLoad, Rendezvous}

func config(p Policy) Config { return Config{Policy: p, PulseTimeout: timeout, FadeIn: fadeIn} }

// well returns a node that is offered whatever is asked.
func well(id, group string, change ...func(*cluster.Node)) cluster.Node {
	n := cluster.Node{
		Descriptor: cluster.Descriptor{ID: id, Group: group, Endpoint: "https://" + id + ".example.com", Weight: cluster.DefaultWeight},
		Report:     cluster.Report{Status: cluster.Active},
		Pulse:      now,
	}
	for _, c := range change {
		c(&n)
	}
	return n
}

func weight(w float64) func(*cluster.Node) { return func(n *cluster.Node) { n.Weight = w } }

func role(r cluster.Role) func(*cluster.Node) { return func(n *cluster.Node) { n.Role = r } }

func status(s cluster.Status) func(*cluster.Node) {
	return func(n *cluster.Node) { n.Report.Status = s }
}

func silent(d time.Duration) func(*cluster.Node) {
	return func(n *cluster.Node) { n.Pulse = now.Add(-d) }
}

func aged(d time.Duration) func(*cluster.Node) {
	return func(n *cluster.Node) { n.Started = now.Add(-d) }
}

func load(l float64) func(*cluster.Node) {
	return func(n *cluster.Node) { n.Figures = &cluster.Figures{Load: l} }
}

func contexts(c ...string) func(*cluster.Node) { return func(n *cluster.Node) { n.Contexts = c } }

// nodes returns a snapshot without pauses and group records.
func nodes(n ...cluster.Node) *cluster.Snapshot {
	return &cluster.Snapshot{Epoch: 1, Time: now, Nodes: n}
}

// seeded returns random numbers whose seed is shown if the test fails.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %#x", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// picked returns the id of the node picked, or the outcome's name in brackets.
func picked(n *cluster.Node, o Outcome) string {
	if n != nil {
		return n.ID
	}
	return [...]string{Picked: "(picked)", Nobody: "(nobody)", NoContext: "(no context)", Overloaded: "(overloaded)"}[o]
}

// count picks times from fresh tables, a client each, and returns how often each
// node came up.
func count(s *cluster.Snapshot, c Config, q Query, times int, rnd *rand.Rand) map[string]int {
	counts := make(map[string]int)
	for i := range times {
		q.Key = fmt.Sprintf("client %d of %#x", i, rnd.Uint64())
		counts[picked(NewTable(s, now, c).Pick(q, now, rnd))]++
	}
	return counts
}

// misfit returns the chi-squared statistic of counts against the wanted shares,
// in any unit, and the bound that right shares pass but once in a million. A node
// with no share must not come up at all.
func misfit(counts map[string]int, want map[string]float64) (chi2, bound float64) {
	total, sum := 0, 0.0
	for _, n := range counts {
		total += n
	}
	for _, w := range want {
		sum += w
	}
	free := -1.0
	for id, n := range counts {
		if want[id] == 0 && n > 0 {
			return math.Inf(1), 0
		}
	}
	for id, w := range want {
		if w == 0 {
			continue
		}
		expected := w / sum * float64(total)
		chi2 += (float64(counts[id]) - expected) * (float64(counts[id]) - expected) / expected
		free++
	}
	return chi2, quantile(free)
}

// quantile returns where the chi-squared distribution reaches 1 - 10⁻⁶ (Wilson and
// Hilferty, 1931; on the safe side for few degrees of freedom).
func quantile(free float64) float64 {
	const z = 4.7534 // the normal distribution reaches 1 - 10⁻⁶
	if free == 0 {
		return 0
	}
	return free * math.Pow(1-2/(9*free)+z*math.Sqrt(2/(9*free)), 3)
}

func assertShares(t *testing.T, want map[string]float64, counts map[string]int) {
	t.Helper()
	chi2, bound := misfit(counts, want)
	assert.LessOrEqualf(t, chi2, bound, "want shares %v, got %v", want, counts)
}
