package selection

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/pkg/cluster"
)

func routed(routes ...string) func(*cluster.Node) {
	return func(n *cluster.Node) { n.Routes = routes }
}

// town is a service of two groups, and another one, whose nodes go by routes.
func town(pauses map[cluster.Target]cluster.Pause) *cluster.Snapshot {
	s := nodes(
		well("b1", "blue", routed("r1", "-111")),
		well("b2", "blue", routed("r2", "pair"), contexts("/", "/shop")),
		well("busy", "blue", routed("busy"), status(cluster.Overloaded)),
		well("console", "blue", routed("console"), role(cluster.Console)),
		well("far", "far", routed("far")),
		well("g1", "green", routed("r3", "pair"), weight(0)),
		well("off", "green", routed("off"), status(cluster.Paused)),
		well("old", "green", routed("old"), silent(timeout+time.Millisecond)),
		well("other", "other", routed("foreign")),
		well("plain", "green", routed("plain"), func(n *cluster.Node) { n.Endpoint = "http://plain.example.com" }),
		well("spare", "green", routed("spare", ""), role(cluster.Standby)),
	)
	s.Groups = map[string]cluster.Group{
		"blue": {ID: "blue", Fallbacks: []string{"far"}}, "far": {ID: "far", Service: "far"}, "other": {ID: "other", Service: "other"},
	}
	s.Pauses = pauses
	return s
}

func TestWhoTakesASession(t *testing.T) {
	drain, b1 := cluster.Pause{Mode: cluster.Drain}, cluster.NodeTarget("b1")
	until := func(deadline cluster.Millis) cluster.Pause {
		return cluster.Pause{Mode: cluster.Drain, Deadline: deadline}
	}
	mode := func(m cluster.Mode) cluster.Pause { return cluster.Pause{Mode: m} }
	for _, c := range []struct {
		name   string
		pauses map[cluster.Target]cluster.Pause
		q      Query
		routes []string
		want   string // keeper, known, held, away
	}{
		{"its node", nil, Query{}, []string{"r1"}, "b1 b1"},
		{"by another of its node's routes", nil, Query{}, []string{"-111"}, "b1 b1"},
		{"the first of two", nil, Query{}, []string{"r2", "r1"}, "b2 b2"},
		{"of several that share a route the first that can", paused(cluster.NodeTarget("b2"), mode(cluster.Redirect)), Query{}, []string{"pair"}, "g1 b2"},
		{"nobody of that name", nil, Query{}, []string{"gone", "b1", "R1", ""}, "- -"},
		{"who is known, after who is not", nil, Query{}, []string{"gone", "r3"}, "g1 g1"},
		{"a node without weight", nil, Query{}, []string{"r3"}, "g1 g1"},
		{"a standby node", nil, Query{}, []string{"spare"}, "spare spare"},
		{"no console", nil, Query{}, []string{"console"}, "- console"},
		{"no node of another service", nil, Query{}, []string{"foreign", "far"}, "- - away"},
		{"but a fallback's", nil, Query{Group: "blue"}, []string{"foreign", "far"}, "far far"},
		{"no overloaded node", nil, Query{}, []string{"busy", "r1"}, "b1 busy"},
		{"none that says it is paused", nil, Query{}, []string{"off"}, "- off"},
		{"no stale node", nil, Query{}, []string{"old"}, "- old"},
		{"none by http, from https", nil, Query{Secure: true}, []string{"plain"}, "- plain"},
		{"one by http, from http", nil, Query{}, []string{"plain"}, "plain plain"},
		{"the origin", nil, Query{Group: "blue", Node: "b1"}, []string{"r1"}, "b1 b1"},
		{"nobody again", nil, Query{Visited: []Mark{MarkOf("b1")}}, []string{"r1"}, "- b1"},
		{"nobody in a context that it does not serve", nil, Query{Path: "/shop/x"}, []string{"r1", "r2"}, "b2 b1"},

		// envoyproxy/envoy#7218, emissary-ingress/emissary#1473, kubernetes/ingress-nginx#13484
		{"a drained node keeps its sessions", paused(b1, drain), Query{}, []string{"r1"}, "b1 b1"},
		{"so does one that is the origin", paused(b1, drain), Query{Group: "blue", Node: "b1"}, []string{"r1"}, "b1 b1"},
		{"one of a drained group", paused(cluster.GroupTarget("blue"), drain), Query{Group: "blue"}, []string{"r1"}, "b1 b1"},
		{"one of a drained cluster", paused(cluster.All, drain), Query{}, []string{"r1"}, "b1 b1"},
		{"one whose context is drained", paused(contextTarget("b2", "/shop"), drain), Query{Path: "/shop"}, []string{"r2"}, "b2 b2"},
		{"a redirected context lets nobody stay", paused(contextTarget("b2", "/shop"), mode(cluster.Redirect)), Query{Path: "/shop"}, []string{"r2"}, "- b2"},
		{"in another context they do", paused(contextTarget("b2", "/shop"), mode(cluster.Redirect)), Query{Path: "/x"}, []string{"r2"}, "b2 b2"},
		// ansible/ansible#37591, oracle/weblogic-kubernetes-operator#2635, #3295
		{"a millisecond before the deadline", paused(b1, until(now+1)), Query{}, []string{"r1"}, "b1 b1"},
		{"not at the deadline", paused(b1, until(now)), Query{}, []string{"r1"}, "- b1"},
		{"without a deadline for as long as it takes", paused(b1, until(0)), Query{}, []string{"r1"}, "b1 b1"},
		{"every cover is a drain", map[cluster.Target]cluster.Pause{b1: drain, cluster.GroupTarget("blue"): drain, cluster.All: until(now + 1)}, Query{}, []string{"r1"}, "b1 b1"},
		{"one of them has reached its deadline", map[cluster.Target]cluster.Pause{b1: drain, cluster.GroupTarget("blue"): drain, cluster.All: until(now)}, Query{}, []string{"r1"}, "- b1"},
		{"one of them is none", map[cluster.Target]cluster.Pause{b1: drain, cluster.GroupTarget("blue"): mode(cluster.Redirect)}, Query{}, []string{"r1"}, "- b1"},
		{"one of them has ended", map[cluster.Target]cluster.Pause{b1: drain, cluster.GroupTarget("blue"): {Mode: cluster.Stop, Until: now}}, Query{}, []string{"r1"}, "b1 b1"},
		{"redirect moves sessions", paused(b1, mode(cluster.Redirect)), Query{}, []string{"r1", "r2"}, "b2 b1"},
		{"stop drops them", paused(b1, mode(cluster.Stop)), Query{}, []string{"r1"}, "- b1"},
		{"a word that is no mode moves them", paused(b1, mode("nap")), Query{}, []string{"r1"}, "- b1"},
		{"hold has them wait", paused(b1, mode(cluster.Hold)), Query{}, []string{"r1"}, "- b1 held"},
		{"unless a second one can", paused(b1, mode(cluster.Hold)), Query{}, []string{"r1", "r2"}, "b2 b1"},
		{"nor where they have been", paused(b1, mode(cluster.Hold)), Query{Visited: []Mark{MarkOf("b1")}}, []string{"r1"}, "- b1"},
	} {
		if c.q.Path == "" {
			c.q.Path = "/"
		}
		got := NewTable(town(c.pauses), now, config(Random)).Session(&c.q, c.routes, now)
		text := nameOr(got.Keeper, "-") + " " + nameOr(got.Known, "-")
		if got.Held {
			text += " held"
		}
		if got.Away {
			text += " away"
		}
		assert.Equal(t, c.want, text, c.name)
	}
}

func nameOr(n *cluster.Node, none string) string {
	if n == nil {
		return none
	}
	return n.ID
}

func TestASessionStaysWithANodeThatNobodyHeardOf(t *testing.T) {
	s := nodes(well("a", "g", routed("a"), silent(time.Hour)), well("b", "g", routed("b"), silent(time.Hour)))
	got := NewTable(s, now, config(Random)).Session(&Query{Path: "/"}, []string{"b"}, now)
	assert.Equal(t, "b", nameOr(got.Keeper, "-"), "all look stale, which is ignored")
}

func TestWhatASessionMayExpectOfTheNodeThatItCameTo(t *testing.T) {
	drain := func(deadline cluster.Millis) map[cluster.Target]cluster.Pause {
		return paused(cluster.GroupTarget("blue"), cluster.Pause{Mode: cluster.Drain, Deadline: deadline})
	}
	for _, c := range []struct {
		name    string
		pauses  map[cluster.Target]cluster.Pause
		routes  []string
		visited string
		node    string
		want    bool
	}{
		{"its own node, drained", drain(now + 1), []string{"r1"}, "", "b1", true},
		{"though it was led there", drain(now + 1), []string{"r1"}, "b1", "b1", true},
		{"not at the deadline", drain(now), []string{"r1"}, "b1", "b1", false},
		{"nothing of another node", drain(0), []string{"r1"}, "", "b2", false},
		{"nor of one that comes second", nil, []string{"r3", "r2"}, "", "b2", false},
		{"unless the first sent it away", nil, []string{"r3", "r2"}, "g1", "b2", true},
		{"or cannot take it", nil, []string{"off", "r2"}, "", "b2", true},
		{"its own node, not paused", nil, []string{"r1"}, "", "b1", true},
		{"its own node, of which nobody heard for long", nil, []string{"old"}, "", "old", true},
		{"a node that says it is paused", nil, []string{"off"}, "", "off", false},
		{"a node that is on stop", paused(cluster.NodeTarget("b1"), cluster.Pause{Mode: cluster.Stop}), []string{"r1"}, "", "b1", false},
		{"without routes nothing", drain(0), nil, "", "b1", false},
	} {
		q := Query{Path: "/"}
		if c.visited != "" {
			q.Visited = []Mark{MarkOf(c.visited)}
		}
		table := NewTable(town(c.pauses), now, config(Random))
		assert.Equal(t, c.want, table.Stays(&q, c.routes, now, c.node), c.name)
	}
}
