package selection

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/pkg/cluster"
)

func paused(on cluster.Target, p cluster.Pause) map[cluster.Target]cluster.Pause {
	return map[cluster.Target]cluster.Pause{on: p}
}

func contextTarget(node, path string) cluster.Target {
	return cluster.Target{Kind: cluster.ContextKind, ID: node, Path: path}
}

func in(context string, s cluster.Status) func(*cluster.Node) {
	return func(n *cluster.Node) { n.Report.Contexts = map[string]cluster.Status{context: s} }
}

func pulsing(every time.Duration) func(*cluster.Node) {
	return func(n *cluster.Node) { n.PulseMS = every.Milliseconds() }
}

// Each row has the node n; a peer, in error but pulsing, only keeps the cluster from
// failing open where n is stale.
func TestWorstWins(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name    string
		node    cluster.Node
		pauses  map[cluster.Target]cluster.Pause
		q       Query
		offered bool
	}{
		{"a well node is offered", well("n", "g"), nil, Query{}, true},
		{"one that is starting is not", well("n", "g", status(cluster.Starting)), nil, Query{}, false},
		{"nor one that says it is paused", well("n", "g", status(cluster.Paused)), nil, Query{}, false},
		{"nor overloaded", well("n", "g", status(cluster.Overloaded)), nil, Query{}, false},
		{"nor in error", well("n", "g", status(cluster.Faulty)), nil, Query{}, false},
		{"nor inactive, without being in error (modcluster/mod_cluster#244)", well("n", "g", status(cluster.Inactive)), nil, Query{}, false},
		{"nor with a word that nobody knows", well("n", "g", status("ACTIVE")), nil, Query{}, false},
		{"nor one without a report", well("n", "g", status("")), nil, Query{}, false},
		{"paused in the context asked for", well("n", "g", in("/", cluster.Paused)), nil, Query{}, false},
		{"paused in another", well("n", "g", in("/shop", cluster.Paused)), nil, Query{}, true},
		{"active in the context, paused as a whole", well("n", "g", status(cluster.Paused), in("/", cluster.Active)), nil, Query{}, false},

		{"a pause on the node, which says it is active (haproxy/haproxy#1176)", well("n", "g"), paused(cluster.NodeTarget("n"), cluster.Pause{Mode: cluster.Redirect}), Query{}, false},
		{"on another node", well("n", "g"), paused(cluster.NodeTarget("m"), cluster.Pause{Mode: cluster.Redirect}), Query{}, true},
		{"on its group", well("n", "g"), paused(cluster.GroupTarget("g"), cluster.Pause{Mode: cluster.Stop}), Query{}, false},
		{"on another group", well("n", "g"), paused(cluster.GroupTarget("n"), cluster.Pause{Mode: cluster.Stop}), Query{}, true},
		{"on all", well("n", "g"), paused(cluster.All, cluster.Pause{Mode: cluster.Redirect}), Query{}, false},
		{"on the context", well("n", "g"), paused(contextTarget("n", "/"), cluster.Pause{Mode: cluster.Redirect}), Query{}, false},
		{"on another context", well("n", "g"), paused(contextTarget("n", "/shop"), cluster.Pause{Mode: cluster.Redirect}), Query{}, true},
		{"drain takes no new traffic", well("n", "g"), paused(cluster.NodeTarget("n"), cluster.Pause{Mode: cluster.Drain}), Query{}, false},
		{"nor does hold", well("n", "g"), paused(cluster.NodeTarget("n"), cluster.Pause{Mode: cluster.Hold}), Query{}, false},
		{"nor a mode that nobody knows", well("n", "g"), paused(cluster.NodeTarget("n"), cluster.Pause{Mode: "nap"}), Query{}, false},
		{"a pause that ends now has ended", well("n", "g"), paused(cluster.NodeTarget("n"), cluster.Pause{Until: now}), Query{}, true},
		{"one that ends in a millisecond has not", well("n", "g"), paused(cluster.NodeTarget("n"), cluster.Pause{Until: now + 1}), Query{}, false},

		{"silent for just the pulse timeout", well("n", "g", silent(timeout)), nil, Query{}, true},
		{"a millisecond longer", well("n", "g", silent(timeout+ms)), nil, Query{}, false},
		{"three of its own slow pulses", well("n", "g", silent(60*time.Second), pulsing(20*time.Second)), nil, Query{}, true},
		{"a millisecond longer than those", well("n", "g", silent(60*time.Second+ms), pulsing(20*time.Second)), nil, Query{}, false},
		{"fast pulses do not shorten the timeout", well("n", "g", silent(timeout), pulsing(time.Second)), nil, Query{}, true},
		{"a pulse in the future is fresh", well("n", "g", silent(-time.Hour)), nil, Query{}, true},

		{"an empty role is as good as app", well("n", "g", role("")), nil, Query{}, true},
		{"app", well("n", "g", role(cluster.App)), nil, Query{}, true},
		{"a console never", well("n", "g", role(cluster.Console)), nil, Query{}, false},
		{"a role that nobody knows never", well("n", "g", role("canary")), nil, Query{}, false},
		{"a standby node when nobody else is left", well("n", "g", role(cluster.Standby)), nil, Query{}, true},
		{"a node without weight when nobody else is left", well("n", "g", weight(0)), nil, Query{}, true},

		{"visited", well("n", "g"), nil, Query{Visited: []Mark{MarkOf("x"), MarkOf("n")}}, false},
		{"others were visited", well("n", "g"), nil, Query{Visited: []Mark{MarkOf("x"), MarkOf("N")}}, true},
		{"the origin node", well("n", "g"), nil, Query{Group: "g", Node: "n"}, false},
		{"another origin node of its group", well("n", "g"), nil, Query{Group: "g", Node: "m"}, true},
		{"its group is the origin", well("n", "g"), nil, Query{Group: "g"}, true},
		{"a service that nobody is of", well("n", "g"), nil, Query{Service: "shop"}, false},
	} {
		want := map[bool]string{true: "n", false: "(nobody)"}[c.offered]
		if c.node.Report.Status == cluster.Overloaded {
			want = "(overloaded)"
		}
		s := nodes(c.node, well("peer", "p", status(cluster.Faulty)))
		s.Pauses = c.pauses
		c.q.Path, c.q.Key = "/", "client"
		for _, p := range policies {
			table := NewTable(s, now, config(p))
			assert.Equalf(t, want, picked(table.Pick(c.q, now, constant(1<<40))), "%s: %s", p, c.name)
		}
	}
}

func TestOrderOfGroups(t *testing.T) {
	groups := map[string]cluster.Group{
		"blue":  {ID: "blue", Fallbacks: []string{"gone", "green", "spare", "blue"}},
		"spare": {ID: "spare", Service: "static"},
	}
	blue, green, spare, zone := well("blue1", "blue"), well("green1", "green"), well("spare1", "spare"), well("zone1", "zone")
	as := func(n cluster.Node, change func(*cluster.Node)) cluster.Node { change(&n); return n }
	down := func(n cluster.Node) cluster.Node { return as(n, status(cluster.Faulty)) }
	resting := func(n cluster.Node) cluster.Node { return as(n, status(cluster.Paused)) }
	reserve := func(n cluster.Node) cluster.Node { return as(n, role(cluster.Standby)) }
	nothing := func(n cluster.Node) cluster.Node { return as(n, weight(0)) }

	for _, c := range []struct {
		name  string
		nodes []cluster.Node
		want  string
	}{
		{"the origin's group is first, as long as it is well", []cluster.Node{blue, green, spare, zone}, "blue1"},
		{"then its first fallback that is there", []cluster.Node{down(blue), green, spare, zone}, "green1"},
		{"then the second, of whatever service", []cluster.Node{down(blue), down(green), spare, zone}, "spare1"},
		{"then any group of the service", []cluster.Node{down(blue), down(green), down(spare), zone}, "zone1"},
		{"standby of the origin's group only after all these", []cluster.Node{reserve(blue), green, spare, zone}, "green1"},
		{"even after the last of them", []cluster.Node{reserve(blue), down(green), down(spare), zone}, "zone1"},
		{"then in the same order", []cluster.Node{reserve(blue), reserve(green), reserve(spare), reserve(zone)}, "blue1"},
		{"to the end", []cluster.Node{down(blue), down(green), down(spare), reserve(zone)}, "zone1"},
		{"no weight comes after any weight elsewhere", []cluster.Node{nothing(blue), down(green), down(spare), zone}, "zone1"},
		{"but before standby", []cluster.Node{reserve(blue), reserve(green), reserve(spare), nothing(zone)}, "zone1"},
		{"once all others are paused (modcluster/mod_cluster#95)", []cluster.Node{resting(blue), resting(green), resting(spare), reserve(zone)}, "zone1"},
		{"nobody is left", []cluster.Node{down(blue), down(green), down(spare), down(zone)}, "(nobody)"},
	} {
		s := nodes(c.nodes...)
		s.Groups = groups
		for _, p := range policies {
			got := picked(NewTable(s, now, config(p)).Pick(Query{Group: "blue", Path: "/", Key: "k"}, now, seeded(t)))
			assert.Equalf(t, c.want, got, "%s: %s", p, c.name)
		}
	}
}

func TestServicesStayApartUnlessAFallbackNamesOne(t *testing.T) {
	s := nodes(well("shop1", "shop"), well("blog1", "blog"))
	s.Groups = map[string]cluster.Group{"shop": {Service: "shop"}, "blog": {Service: "blog"}}
	table := NewTable(s, now, config(Random))
	for service, want := range map[string]string{"shop": "shop1", "blog": "blog1", "": "(nobody)"} {
		assert.Equal(t, want, picked(table.Pick(Query{Service: service, Path: "/"}, now, seeded(t))))
	}
	q := Query{Service: "shop", Group: "shop", Node: "shop1", Path: "/"}
	assert.Equal(t, "(nobody)", picked(table.Pick(q, now, seeded(t))), "the other service does not stand in")
}

func TestContextsDecideWhoQualifies(t *testing.T) {
	faulty := status(cluster.Faulty)
	for _, c := range []struct {
		name  string
		nodes []cluster.Node
		paths []string // of the group
		path  string
		want  string
	}{
		{"who lists the longest context", []cluster.Node{well("root", "g"), well("shop", "g", contexts("/shop"))}, nil, "/shop/1", "shop"},
		{"and not who lists a longer word", []cluster.Node{well("root", "g"), well("shop", "g", contexts("/shop"))}, nil, "/shopping", "root"},
		{"nobody else, even if that one is down", []cluster.Node{well("root", "g"), well("shop", "g", contexts("/shop"), faulty)}, nil, "/shop/1", "(nobody)"},
		{"a console's contexts count as well", []cluster.Node{well("root", "g"), well("con", "g", contexts("/con"), role(cluster.Console))}, nil, "/con", "(nobody)"},
		{"twice in the list is once", []cluster.Node{well("a", "g", contexts("/", "/", "/a"))}, nil, "/", "a"},
		{"a path that nobody knows", []cluster.Node{well("shop", "g", contexts("/shop"))}, nil, "/blog", "(no context)"},
		{"a path that only a group knows", []cluster.Node{well("shop", "g", contexts("/shop"))}, []string{"/blog"}, "/blog/1", "(nobody)"},
		{"a group's path is no longer context", []cluster.Node{well("shop", "g", contexts("/shop"))}, []string{"/shop/cart"}, "/shop/cart", "shop"},
		{"a path that nobody knows, with nobody offered", []cluster.Node{well("shop", "g", contexts("/shop"), faulty)}, nil, "/blog", "(nobody)"},
		{"with only a standby node offered", []cluster.Node{well("shop", "g", contexts("/shop"), role(cluster.Standby))}, nil, "/blog", "(no context)"},
		{"with only a console", []cluster.Node{well("con", "g", contexts("/con"), role(cluster.Console))}, nil, "/blog", "(nobody)"},
	} {
		s := nodes(c.nodes...)
		s.Groups = map[string]cluster.Group{"g": {ID: "g", Paths: c.paths}}
		got := picked(NewTable(s, now, config(Random)).Pick(Query{Path: c.path}, now, seeded(t)))
		assert.Equal(t, c.want, got, c.name)
	}
}

func TestNoContextOnlyWhileSomebodyIsOfferedToTheQuery(t *testing.T) {
	table := NewTable(nodes(well("shop", "g", contexts("/shop"))), now, config(Random))
	for _, q := range []Query{
		{Path: "/blog", Visited: []Mark{MarkOf("shop")}},
		{Path: "/blog", Node: "shop"},
	} {
		_, outcome := table.Pick(q, now, seeded(t))
		assert.Equal(t, Nobody, outcome)
	}
}

func TestAFallbackOfAnotherServiceAnswersByItsOwnContexts(t *testing.T) {
	s := nodes(well("sorry", "static"), well("shop1", "shop", contexts("/shop"), status(cluster.Paused)))
	s.Groups = map[string]cluster.Group{"shop": {Service: "shop", Fallbacks: []string{"static"}}}
	q := Query{Service: "shop", Group: "shop", Path: "/shop/1"}
	assert.Equal(t, "sorry", picked(NewTable(s, now, config(Random)).Pick(q, now, seeded(t))))

	s.Nodes = s.Nodes[:1]
	assert.Equal(t, "sorry", picked(NewTable(s, now, config(Random)).Pick(q, now, seeded(t))), "the origin's nodes are gone")
}

func TestADuplicateContextDoesNotDoubleTheShare(t *testing.T) {
	s := nodes(well("a", "g", contexts("/", "/")), well("b", "g"))
	assertShares(t, map[string]float64{"a": 1, "b": 1}, count(s, config(Random), Query{Path: "/"}, samples, seeded(t)))
}

func TestPickAllocatesNothing(t *testing.T) {
	s := fleet(1000)
	for _, p := range policies {
		table, rnd := NewTable(s, now, config(p)), seeded(t)
		q := Query{Group: "blue", Path: "/a/b", Visited: []Mark{MarkOf("n00001")}, Key: "192.0.2.7"}
		assert.Zero(t, testing.AllocsPerRun(100, func() { table.Pick(q, now, rnd) }), p)
	}
}
