package selection

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestOverloadIsToldFromNobody(t *testing.T) {
	overloaded := status(cluster.Overloaded)
	for _, c := range []struct {
		name   string
		node   cluster.Node
		pauses map[cluster.Target]cluster.Pause
		q      Query
		want   string
	}{
		{"all report it", well("n", "g", overloaded), nil, Query{}, "(overloaded)"},
		{"in the context that counts", well("n", "g", in("/", cluster.Overloaded)), nil, Query{}, "(overloaded)"},
		{"as standby", well("n", "g", overloaded, role(cluster.Standby)), nil, Query{}, "(overloaded)"},
		{"a fallback does", well("n", "far", overloaded), nil, Query{Group: "g"}, "(overloaded)"},
		{"another service does", well("n", "far", overloaded), nil, Query{}, "(nobody)"},
		{"a console does", well("n", "g", overloaded, role(cluster.Console)), nil, Query{}, "(nobody)"},
		{"and is paused", well("n", "g", overloaded), paused(cluster.NodeTarget("n"), cluster.Pause{Mode: cluster.Drain}), Query{}, "(nobody)"},
		{"and is stale", well("n", "g", overloaded, silent(timeout+time.Millisecond)), nil, Query{}, "(nobody)"},
		{"and has been visited", well("n", "g", overloaded), nil, Query{Visited: []Mark{MarkOf("n")}}, "(nobody)"},
		{"and is the origin", well("n", "g", overloaded), nil, Query{Group: "g", Node: "n"}, "(nobody)"},
		{"outside the session's domain", well("n", "h", overloaded), nil, Query{Domain: "g"}, "(nobody)"},
		{"inside it", well("n", "h", overloaded), nil, Query{Domain: "h"}, "(overloaded)"},
	} {
		s := nodes(well("ill", "g", status(cluster.Faulty)), c.node)
		s.Groups = map[string]cluster.Group{"g": {Fallbacks: []string{"far"}}, "far": {Service: "far"}}
		s.Pauses, c.q.Path = c.pauses, "/"
		assert.Equal(t, c.want, picked(NewTable(s, now, config(Random)).Pick(c.q, now, constant(0))), c.name)
	}
}

// overloaded says whether somebody might be picked if no report said overload.
func (m model) overloaded() Outcome {
	s := *m.s
	s.Nodes = slices.Clone(s.Nodes)
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Report.Status == cluster.Overloaded {
			n.Report.Status, n.Report.Contexts = cluster.Active, nil
		}
	}
	if (model{&s, m.q, m.now}).possible() != nil {
		return Overloaded
	}
	return Nobody
}

func TestADomainIsNotLeft(t *testing.T) {
	s := nodes(well("b1", "blue"), well("g1", "green"), well("p1", "pink", role(cluster.Standby)))
	s.Groups = map[string]cluster.Group{"blue": {Fallbacks: []string{"pink"}}}
	pick := func(domain string, visited ...string) string {
		q := Query{Group: "green", Domain: domain, Path: "/"}
		for _, id := range visited {
			q.Visited = append(q.Visited, MarkOf(id))
		}
		return picked(NewTable(s, now, config(Random)).Pick(q, now, constant(0)))
	}
	assert.Equal(t, "g1", pick(""))
	assert.Equal(t, "b1", pick("blue"))
	assert.Equal(t, "p1", pick("blue", "b1"), "its fallbacks belong to it")
	assert.Equal(t, "(nobody)", pick("blue", "b1", "p1"))
	assert.Equal(t, "(nobody)", pick("pink", "p1"))
	assert.Equal(t, "(nobody)", pick("gone"))
}

func TestWhatTimeMayBring(t *testing.T) {
	stop, hold := cluster.Pause{Mode: cluster.Stop}, cluster.Pause{Mode: cluster.Hold}
	for _, c := range []struct {
		name   string
		pauses map[cluster.Target]cluster.Pause
		q      Query
		want   bool
	}{
		{"nothing pauses them", nil, Query{}, true},
		{"hold ends", paused(cluster.All, hold), Query{}, true},
		{"stop does not", paused(cluster.All, stop), Query{}, false},
		{"one of two is on stop", paused(cluster.NodeTarget("b1"), stop), Query{}, true},
		{"both are", map[cluster.Target]cluster.Pause{cluster.NodeTarget("b1"): stop, cluster.GroupTarget("green"): stop}, Query{}, false},
		{"one is in the context that counts", map[cluster.Target]cluster.Pause{contextTarget("b1", "/"): stop, cluster.GroupTarget("green"): stop}, Query{}, false},
		{"the only one of the session's domain is", paused(cluster.NodeTarget("b1"), stop), Query{Domain: "blue"}, false},
		{"a stop that has ended", paused(cluster.All, cluster.Pause{Mode: cluster.Stop, Until: now}), Query{}, true},
		{"nobody is registered, and may be", paused(cluster.All, stop), Query{Service: "empty"}, true},
	} {
		s := nodes(well("b1", "blue"), well("console", "pink", role(cluster.Console)), well("g1", "green"), well("other", "pink", contexts("/other")))
		s.Pauses, c.q.Path = c.pauses, "/"
		assert.Equal(t, c.want, NewTable(s, now, config(Random)).Waits(&c.q, now), c.name)
	}
}
