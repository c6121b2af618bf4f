package selection

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func reasoned(reason string) func(*cluster.Node) {
	return func(n *cluster.Node) { n.Report.Reason = reason }
}

func TestExplain(t *testing.T) {
	s := nodes(
		well("active", "g"),
		well("calm", "g", weight(0)),
		well("console", "g", role(cluster.Console)),
		well("drained", "blue"),
		well("error", "g", status(cluster.Faulty), reasoned("disk full")),
		well("held", "g"),
		well("mute", "g", status("")),
		well("origin", "g"),
		well("other", "g", contexts("/shop")),
		well("part", "g", in("/", cluster.Paused)),
		well("self", "g", status(cluster.Paused), reasoned("SIGTERM")),
		well("silent", "g", silent(41*time.Second+999*time.Millisecond)),
		well("standby", "g", role(cluster.Standby)),
		well("starting", "g", status(cluster.Starting)),
		well("stranger", "foreign"),
		well("two", "blue", status(cluster.Faulty)),
		well("visited", "g"),
	)
	s.Groups = map[string]cluster.Group{"foreign": {Service: "other"}}
	s.Pauses = map[cluster.Target]cluster.Pause{
		cluster.GroupTarget("blue"): {Mode: cluster.Drain, Reason: "release 42"},
		contextTarget("held", "/"):  {Mode: cluster.Hold},
	}
	q := Query{Group: "g", Node: "origin", Path: "/x", Visited: []Mark{MarkOf("visited")}}
	want := map[string]string{
		"active":   "+offered",
		"calm":     "+offered last: no weight",
		"console":  "-console",
		"drained":  "-paused by group:blue: release 42",
		"error":    "-reports error: disk full",
		"held":     "-paused by context:held/",
		"mute":     "-reports nothing",
		"origin":   "-origin",
		"other":    "-other context",
		"part":     "-paused by node",
		"self":     "-paused by node: SIGTERM",
		"silent":   "-stale 41s",
		"standby":  "-standby",
		"starting": "-reports starting",
		"two":      "-paused by group:blue: release 42",
		"visited":  "-visited",
	}
	assert.Equal(t, want, explained(NewTable(s, now, config(Random)).Explain(q, now)))
}

func explained(verdicts []Verdict) map[string]string {
	got := map[string]string{}
	for _, v := range verdicts {
		got[v.Node.ID] = map[bool]string{true: "+", false: "-"}[v.Offered] + v.Why
	}
	return got
}

func TestExplainStandbyOnceNobodyElseIsLeft(t *testing.T) {
	s := nodes(well("app", "g", status(cluster.Faulty)), well("standby", "g", role(cluster.Standby)))
	got := explained(NewTable(s, now, config(Random)).Explain(Query{}, now))
	assert.Equal(t, map[string]string{"app": "-reports error", "standby": "+offered"}, got)
}

func TestExplainFailOpenAndFallbacks(t *testing.T) {
	s := nodes(well("a", "g", silent(time.Hour)), well("b", "far", silent(time.Hour)), well("c", "farther", silent(time.Hour)))
	s.Groups = map[string]cluster.Group{"g": {Fallbacks: []string{"far"}}, "far": {Service: "x"}, "farther": {Service: "x"}}
	got := explained(NewTable(s, now, config(Random)).Explain(Query{Group: "g"}, now))
	assert.Equal(t, map[string]string{"a": "+offered", "b": "+offered"}, got, "stale does not count, fallbacks are shown")
}

func TestWhoIsOfferedAnywhereAgreesWithTheExplanations(t *testing.T) {
	rnd, seen := seeded(t), map[bool]int{}
	for range 500 {
		s := randomSnapshot(rnd)
		table := NewTable(s, now, config(Random))
		want := make([]bool, len(s.Nodes))
		for _, n := range s.Nodes {
			for _, context := range n.ContextList() {
				for _, v := range table.Explain(Query{Service: s.Service(n.Group), Path: context}, now) {
					i := slices.IndexFunc(s.Nodes, func(n cluster.Node) bool { return n.ID == v.Node.ID })
					want[i] = want[i] || v.Offered
				}
			}
		}
		require.Equal(t, want, table.Offered(now), "%+v", s)
		for i, n := range s.Nodes {
			seen[want[i] && n.Role == cluster.Standby]++
		}
	}
	assert.Greater(t, min(seen[true], seen[false]), 50)
}
