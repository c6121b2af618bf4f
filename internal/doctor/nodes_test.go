package doctor

import (
	"testing"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestNodes(t *testing.T) {
	node := func(change func(n *cluster.Node)) func(f *facts) {
		return func(f *facts) { change(&f.snapshot.Nodes[0]) }
	}
	all := func(change func(n *cluster.Node)) func(f *facts) {
		return func(f *facts) {
			for i := range f.snapshot.Nodes {
				change(&f.snapshot.Nodes[i])
			}
		}
	}
	endpoint := func(url string) func(n *cluster.Node) { return func(n *cluster.Node) { n.Endpoint = url } }
	inspect(t, []row{
		{"a node is silent for its tolerance", node(func(n *cluster.Node) { n.Pulse = now - 15_000 }), nil},
		{"a node is silent for longer", node(func(n *cluster.Node) { n.Pulse = now - 15_001 }), found("warning stale node:b1")},
		{"every node is", all(func(n *cluster.Node) { n.Pulse = now - 15_001 }), found("wrong stale ")},
		{"there is no node", func(f *facts) { f.snapshot.Nodes = nil }, nil},
		{"a node has no figures", node(func(n *cluster.Node) { n.Figures = nil }), found("warning figures node:b1", "warning health-check "+blueTG)},
		{"a console has none", node(func(n *cluster.Node) { n.Figures, n.Role = nil, cluster.Console }), found("note peers group:blue")},
		{"an endpoint is http", node(endpoint("http://b1.example.com")), found("warning scheme node:b1")},
		{"all of this machine are", all(endpoint("http://127.0.0.1:8080")), found("note private node:b1")},
		{"one endpoint is private", node(endpoint("https://10.0.0.1")), found("warning private node:b1")},
		{"one is next to a private network", node(endpoint("https://11.0.0.1")), nil},
		{"one is a private name", node(endpoint("https://b1.eu-west-1.compute.internal")), found("warning private node:b1")},
		{"one is a private address of IPv6", node(endpoint("https://[fd00::1]:8443")), found("warning private node:b1")},
		{"all are private", all(endpoint("https://172.16.0.1")), found("note private node:b1")},
		{"a service of its own is private", func(f *facts) {
			f.snapshot.Nodes[0].Endpoint, f.snapshot.Nodes[1].Endpoint = "https://10.0.0.1", "https://10.0.0.2"
			f.change("blue", func(g *cluster.Group) { g.Service, g.Hosts = "shop", []string{"shop.example.com"} })
			f.change("green", func(g *cluster.Group) { g.Hosts = []string{"app.example.com"} })
		}, found("note private node:b1", "warning peers group:green")},
		{"a pulse each half second", node(func(n *cluster.Node) { n.PulseMS = 500 }), nil},
		{"more often", node(func(n *cluster.Node) { n.PulseMS = 499 }), found("warning pulse-interval node:b1")},
		{"each minute", node(func(n *cluster.Node) { n.PulseMS = 60_000 }), nil},
		{"less often", node(func(n *cluster.Node) { n.PulseMS = 60_001 }), found("warning pulse-interval node:b1")},
		{"an interval that it does not say", node(func(n *cluster.Node) { n.PulseMS = 0 }), nil},
	})
}

func TestGroups(t *testing.T) {
	blue := func(change func(g *cluster.Group)) func(f *facts) {
		return func(f *facts) { f.change("blue", change) }
	}
	inspect(t, []row{
		{"a group has no peers", func(f *facts) {
			f.snapshot.Nodes = f.snapshot.Nodes[:2]
			f.change("blue", func(g *cluster.Group) { g.Fallbacks = nil })
		}, found("warning peers group:blue")},
		{"its peers are of another service", func(f *facts) {
			f.change("blue", func(g *cluster.Group) { g.Service, g.Fallbacks = "shop", nil })
			f.config.Origins = true
		}, found("warning peers group:blue", "warning peers group:green")},
		{"a fallback stands in", func(f *facts) {
			f.change("blue", func(g *cluster.Group) { g.Service = "shop" })
			f.change("green", func(g *cluster.Group) { g.Fallbacks = []string{"blue"} })
			f.config.Origins = true
		}, nil},
		{"a group has one node", func(f *facts) { f.snapshot.Nodes = f.snapshot.Nodes[1:] }, found("note peers group:blue")},
		{"a fallback does not exist", blue(func(g *cluster.Group) { g.Fallbacks = []string{"gren"} }), found("wrong fallbacks group:blue")},
		{"a fallback has a record alone", func(f *facts) {
			f.snapshot.Nodes = f.snapshot.Nodes[:2]
		}, found("warning peers group:blue")},
		{"a fallback has nodes alone", func(f *facts) { delete(f.snapshot.Groups, "green") }, nil},
		{"a route that nobody may take", func(f *facts) { f.config.AllowedHosts = nil }, found("warning routes group:blue")},
		{"no route, and no host", func(f *facts) {
			f.config.AllowedHosts = nil
			f.change("blue", func(g *cluster.Group) { g.Route = "" })
		}, nil},
		{"two services that nobody tells apart", func(f *facts) {
			f.change("blue", func(g *cluster.Group) { g.Service = "shop" })
			f.change("green", func(g *cluster.Group) { g.Fallbacks = []string{"blue"} })
		}, found("warning origin group:blue", "warning origin group:green")},
		{"each is known by its own", func(f *facts) {
			f.change("blue", func(g *cluster.Group) { g.Service, g.Paths = "shop", []string{"/shop"} })
			f.change("green", func(g *cluster.Group) { g.Fallbacks, g.Hosts = []string{"blue"}, []string{"app.example.com"} })
		}, nil},
		{"a deployment of two groups", func(f *facts) {
			for _, id := range []string{"blue", "green"} {
				f.change(id, func(g *cluster.Group) { g.Sources = []string{"asg:web", "ecs:prod/web", "ecs:prod/web"} })
			}
		}, found("warning sources group:green", "warning sources group:green")},
		{"a source out of form", blue(func(g *cluster.Group) { g.Sources = append(g.Sources, "ecs:web") }), found("wrong sources group:blue")},
		{"rules, and nowhere to move them", func(f *facts) { f.config.TargetGroup = "" }, found("wrong rule-sink group:blue", "wrong rule-sink group:green")},
		{"a group's own place to move them", func(f *facts) {
			f.config.TargetGroup = ""
			for _, id := range []string{"blue", "green"} {
				f.change(id, func(g *cluster.Group) { g.DetourTargetGroup = sinkTG })
			}
		}, nil},
		{"a rule that is none", blue(func(g *cluster.Group) { g.Rules = append(g.Rules, blueTG) }), found("wrong rule-sink group:blue")},
	})
}
