package selection

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/pkg/cluster"
)

const samples = 2000

// Copies of the function come and go: each pick below is the first of its table.
func TestEveryPolicySharesOutByWeight(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		nodes []cluster.Node
		q     Query
		want  map[string]float64
	}{
		"equal weights": {[]cluster.Node{well("a", "g"), well("b", "g"), well("c", "g")}, Query{}, map[string]float64{"a": 1, "b": 1, "c": 1}},
		"by weight":     {[]cluster.Node{well("a", "g", weight(8)), well("b", "g", weight(1)), well("c", "g", weight(1))}, Query{}, map[string]float64{"a": 8, "b": 1, "c": 1}},
		"across groups": {[]cluster.Node{well("a", "g", weight(5)), well("b", "h", weight(3)), well("c", "i", weight(2))}, Query{}, map[string]float64{"a": 5, "b": 3, "c": 2}},
		"fractions":     {[]cluster.Node{well("a", "g", weight(.5)), well("b", "g", weight(.25))}, Query{}, map[string]float64{"a": 2, "b": 1}},
		"a visited node's share goes to all others": {
			[]cluster.Node{well("a", "g", weight(8)), well("b", "g", weight(1)), well("c", "g", weight(1))},
			Query{Visited: []Mark{MarkOf("a")}},
			map[string]float64{"b": 1, "c": 1},
		},
		"so does the origin's": {
			[]cluster.Node{well("a", "g", weight(8)), well("b", "g", weight(1)), well("c", "g", weight(3))},
			Query{Node: "a", Group: "g"},
			map[string]float64{"b": 1, "c": 3},
		},
		"so does a stale node's": {
			[]cluster.Node{well("a", "g", weight(8), silent(16*time.Second)), well("b", "g", weight(1)), well("c", "g", weight(2))},
			Query{},
			map[string]float64{"b": 1, "c": 2},
		},
		"zero, negative and not a number get nothing": {
			[]cluster.Node{well("a", "g", weight(0)), well("b", "g", weight(-7)), well("c", "g", weight(nan)), well("d", "g", weight(1)), well("e", "g", weight(2))},
			Query{},
			map[string]float64{"d": 1, "e": 2},
		},
		"without any weight all are equal": {
			[]cluster.Node{well("a", "g", weight(0)), well("b", "g", weight(-7)), well("c", "g", weight(nan)), well("d", "g", weight(math.Inf(-1)))},
			Query{},
			map[string]float64{"a": 1, "b": 1, "c": 1, "d": 1},
		},
		"infinity and huge count as the largest weight": {
			[]cluster.Node{well("a", "g", weight(inf)), well("b", "g", weight(math.MaxFloat64)), well("c", "g", weight(maxWeight)), well("d", "g", weight(maxWeight/2))},
			Query{},
			map[string]float64{"a": 2, "b": 2, "c": 2, "d": 1},
		},
		"the least weights that there are": {
			[]cluster.Node{well("a", "g", weight(math.SmallestNonzeroFloat64)), well("b", "g", weight(math.SmallestNonzeroFloat64))},
			Query{Visited: []Mark{MarkOf("b")}},
			map[string]float64{"a": 1},
		},
		"all new are equal": {
			[]cluster.Node{well("a", "g", aged(time.Second)), well("b", "g", aged(29*time.Second)), well("c", "g", aged(-time.Hour))},
			Query{},
			map[string]float64{"a": 1, "b": 1, "c": 1},
		},
	} {
		for _, p := range policies {
			t.Run(string(p)+", "+name, func(t *testing.T) {
				t.Parallel()
				assertShares(t, c.want, count(nodes(c.nodes...), config(p), c.q, samples, seeded(t)))
			})
		}
	}
}

// Nine of ten are stale, so that most picks go through pool.weigh.
func TestSharesAreExactWhereMostDrawsAreRefused(t *testing.T) {
	s := nodes()
	want := map[string]float64{}
	for i := range 50 {
		n := well(string(rune('A'+i)), "g", weight(float64(1+i%4)), silent(time.Hour))
		if i%10 == 5 {
			n.Pulse = now
			n.Started = now.Add(-time.Duration(i) * time.Second) // 5 … 45 s
			want[n.ID] = n.Weight * min(1, float64(i)/30)
		}
		s.Nodes = append(s.Nodes, n)
	}
	for _, p := range []Policy{Random, RoundRobin, LeastLoad} {
		t.Run(string(p), func(t *testing.T) {
			assertShares(t, want, count(s, config(p), Query{}, samples, seeded(t)))
		})
	}
}

func TestAWrongShareIsNoticed(t *testing.T) {
	s := nodes(well("a", "g", weight(8)), well("b", "g", weight(1)), well("c", "g", weight(1)))
	counts := count(s, config(Random), Query{}, 8*samples, seeded(t))
	for name, wrong := range map[string]map[string]float64{
		"a tenth too much":     {"a": 8.5, "b": .75, "c": .75},
		"one for the other":    {"a": 8, "b": 1.5, "c": .5},
		"a node too many":      {"a": 8, "b": 1, "c": 1, "d": .5},
		"a node that has none": {"a": 8, "b": 1},
	} {
		chi2, bound := misfit(counts, wrong)
		assert.Greater(t, chi2, bound, name)
	}
}

// The lower of two draws: the least loaded of three wins in 5 of 9 cases, whatever
// the order (a policy that never resets its best gives each a third).
func TestLeastLoadPrefersTheFreerNodeInAnyOrder(t *testing.T) {
	want := map[string]float64{"l10": 5, "l20": 3, "l30": 1}
	l10, l20, l30 := well("l10", "g", load(10)), well("l20", "g", load(20)), well("l30", "g", load(30))
	for _, order := range [][]cluster.Node{{l30, l20, l10}, {l10, l20, l30}, {l20, l30, l10}} {
		assertShares(t, want, count(nodes(order...), config(LeastLoad), Query{}, samples, seeded(t)))
	}
}

// A node that says nothing of its load is not the freest of all.
func TestLeastLoadTakesANodeWithoutFiguresByItsWeight(t *testing.T) {
	for name, other := range map[string]cluster.Node{
		"busy": well("other", "g", load(0.1)), "free": well("other", "g", load(0)), "mute too": well("other", "g"),
	} {
		s := nodes(well("mute", "g"), other)
		t.Run(name, func(t *testing.T) {
			assertShares(t, map[string]float64{"mute": 1, "other": 1}, count(s, config(LeastLoad), Query{}, samples, seeded(t)))
		})
	}
	s := nodes(well("busy", "g", load(9)), well("free", "g", load(1)), well("mute", "g", weight(200)))
	assertShares(t, map[string]float64{"busy": 3, "free": 5, "mute": 8}, count(s, config(LeastLoad), Query{}, samples, seeded(t)))
}

func TestNewNodesFadeIn(t *testing.T) {
	for name, c := range map[string]struct {
		age  time.Duration
		want float64 // beside one old node's 1
	}{
		"half the time, half the share":     {15 * time.Second, .5},
		"a tenth from the first moment":     {0, .1},
		"a start in the future is now":      {-time.Hour, .1},
		"full share at the end of fade-in":  {fadeIn, 1},
		"a node older than that is no case": {time.Hour, 1},
	} {
		for _, p := range []Policy{Random, RoundRobin, LeastLoad} {
			t.Run(string(p)+", "+name, func(t *testing.T) {
				s := nodes(well("new", "g", aged(c.age)), well("old", "g"))
				assertShares(t, map[string]float64{"old": 1, "new": c.want}, count(s, config(p), Query{}, samples, seeded(t)))
			})
		}
	}
}

func TestFadeInLooksOnlyAtNodesThatMayBePicked(t *testing.T) {
	s := nodes(well("old", "g"), well("new", "g", aged(15*time.Second)), well("newer", "g", aged(0)), well("other", "h"))
	q := Query{Group: "g", Visited: []Mark{MarkOf("old")}}
	assertShares(t, map[string]float64{"new": 1, "newer": 1}, count(s, config(Random), q, samples, seeded(t)))

	s.Nodes = append(s.Nodes, well("old too", "g", aged(fadeIn)))
	assertShares(t, map[string]float64{"new": .5, "newer": .1, "old too": 1}, count(s, config(Random), q, samples, seeded(t)))
}

func TestNoFadeInWhereNoneIsConfigured(t *testing.T) {
	s := nodes(well("new", "g", aged(0)), well("future", "g", aged(-time.Hour)), well("old", "g"))
	assertShares(t, map[string]float64{"new": 1, "future": 1, "old": 1}, count(s, Config{PulseTimeout: timeout}, Query{}, samples, seeded(t)))
}

// envoyproxy/envoy#29259, #29008: two new nodes among 130 got nothing.
func TestAFewNewNodesAmongManyGetTheirShare(t *testing.T) {
	s := nodes(well("new1", "g", aged(0)), well("new2", "g", aged(15*time.Second)))
	for i := range 130 {
		s.Nodes = append(s.Nodes, well("old"+string(rune('A'+i)), "g"))
	}
	table, rnd, counts := NewTable(s, now, config(Random)), seeded(t), map[string]int{}
	for range 200_000 {
		n, _ := table.Pick(Query{}, now, rnd)
		if n.Started == 0 {
			counts["old"]++
		} else {
			counts[n.ID]++
		}
	}
	assertShares(t, map[string]float64{"new1": .1, "new2": .5, "old": 130}, counts)
}
