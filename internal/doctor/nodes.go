package doctor

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

func stale(f *facts, tell teller) {
	var silent []cluster.Node
	for _, n := range f.snapshot.Nodes {
		if n.Stale(f.now(), f.config.PulseTimeout) {
			silent = append(silent, n)
		}
	}
	if len(silent) > 0 && len(silent) == len(f.snapshot.Nodes) {
		tell(Wrong, "", "every node is stale: staleness is ignored, and users are led to nodes that may be gone", "look whether the agents reach the registry: NodeSecurityGroup, NodePolicyArn, their own logs")
		return
	}
	for _, n := range silent {
		tell(Warning, aboutNode(n.ID), fmt.Sprintf("the node has been silent for %s", f.now().Sub(n.Pulse).Round(time.Second)),
			"look at its agent's log; without an agent, call detour register every few seconds")
	}
}

func figures(f *facts, tell teller) {
	for _, n := range f.snapshot.Nodes {
		if n.Figures == nil && n.Role != cluster.Console {
			tell(Warning, aboutNode(n.ID), "the node publishes no figures: nobody can tell when it is idle (pause --wait fails), and it has no gate",
				"run the application behind a gate: the middleware of pkg/gate, or detour agent --gate PATH")
		}
	}
}

// scheme knows that nobody is led from https to http.
func scheme(f *facts, tell teller) {
	for _, n := range f.snapshot.Nodes {
		if strings.HasPrefix(n.Endpoint, "http://") && !isLoopback(n.Endpoint) {
			tell(Warning, aboutNode(n.ID), "its endpoint "+n.Endpoint+" is http: clients of an HTTPS listener are never led there", "register the node with an https endpoint")
		}
	}
}

// private compares the nodes of each service: an internal load balancer's clients
// may well reach private endpoints.
func private(f *facts, tell teller) {
	all := make(map[string]int) // nodes by service
	hidden := make(map[string][]cluster.Node)
	for _, n := range f.snapshot.Nodes {
		service := f.snapshot.Service(n.Group)
		all[service]++
		if isPrivate(n.Endpoint) {
			hidden[service] = append(hidden[service], n)
		}
	}
	for _, n := range f.snapshot.Nodes {
		service := f.snapshot.Service(n.Group)
		if len(hidden[service]) < all[service] && isPrivate(n.Endpoint) {
			tell(Warning, aboutNode(n.ID), "its endpoint "+n.Endpoint+" is private, and others of its service are not: who comes from outside cannot follow", "register the node with an endpoint that clients reach")
		}
	}
	for _, service := range slices.Sorted(maps.Keys(hidden)) {
		if nodes := hidden[service]; len(nodes) == all[service] && !f.config.Local {
			tell(Note, aboutNode(nodes[0].ID), fmt.Sprintf("all %d endpoints of its service are private, such as %s", len(nodes), nodes[0].Endpoint), "right for clients of an internal load balancer alone")
		}
	}
}

// isPrivate reports whether an endpoint's host is an address of RFC 1918, RFC 4193
// or of this machine or link, or a name that public DNS does not know.
func isPrivate(endpoint string) bool {
	host := hostOf(endpoint)
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast()
	}
	return !strings.Contains(host, ".") || strings.HasSuffix(host, ".internal") || strings.HasSuffix(host, ".local")
}

func isLoopback(endpoint string) bool {
	a, err := netip.ParseAddr(hostOf(endpoint))
	return err == nil && a.IsLoopback()
}

func hostOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// Pulses outside of these cost the registry more than they tell, or tell nothing in
// time.
const (
	shortestPulse = 500 * time.Millisecond
	longestPulse  = time.Minute
)

func pulseInterval(f *facts, tell teller) {
	for _, n := range f.snapshot.Nodes {
		every := time.Duration(n.PulseMS) * time.Millisecond
		switch {
		case n.PulseMS == 0:
		case every < shortestPulse:
			tell(Warning, aboutNode(n.ID), fmt.Sprintf("it pulses every %s, each time a script of the registry", every), "set DETOUR_PULSE_EVERY of its agent to some seconds")
		case every > longestPulse:
			tell(Warning, aboutNode(n.ID), fmt.Sprintf("it pulses every %s: should it die, users are led there for %s", every, n.Tolerance(f.config.PulseTimeout)), "set DETOUR_PULSE_EVERY of its agent to some seconds")
		}
	}
}
