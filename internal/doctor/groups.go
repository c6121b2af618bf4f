package doctor

import (
	"maps"
	"slices"
	"strings"

	"github.com/detourhq/detour/pkg/cluster"
)

func peers(f *facts, tell teller) {
	members := f.members()
	services := make(map[string]int) // groups with nodes, by service
	for group := range members {
		services[f.snapshot.Service(group)]++
	}
	for _, group := range slices.Sorted(maps.Keys(members)) {
		switch {
		case services[f.snapshot.Service(group)] == 1 && !hasFallback(f.snapshot.Groups[group], members):
			tell(Warning, aboutGroup(group), "no other group of its service has a node: a pause of it leaves nobody to offer, and clients get 503",
				"register nodes of a second group, give both the same --service, or name a --fallback")
		case len(members[group]) == 1:
			tell(Note, aboutGroup(group), "the group has one node: a pause of that node is one of the group", "register a second one if the group is to stand in for others")
		}
	}
}

func hasFallback(g cluster.Group, members map[string][]cluster.Node) bool {
	return slices.ContainsFunc(g.Fallbacks, func(id string) bool { return id != g.ID && len(members[id]) > 0 })
}

func fallbacks(f *facts, tell teller) {
	members := f.members()
	for _, g := range f.groups() {
		for _, id := range g.Fallbacks {
			if _, recorded := f.snapshot.Groups[id]; !recorded && len(members[id]) == 0 {
				tell(Wrong, aboutGroup(g.ID), "its fallback "+id+" does not exist", "name one that does: detour group put "+g.ID+" --fallback ID")
			}
		}
	}
}

func routes(f *facts, tell teller) {
	for _, g := range f.groups() {
		if g.Route != "" && len(f.config.AllowedHosts) == 0 {
			tell(Warning, aboutGroup(g.ID), "its route "+g.Route+" is never taken: DETOUR_ALLOWED_HOSTS is empty here", "list the hosts that clients may stay on, in the redirect function's environment (parameter AllowedHosts)")
		}
	}
}

// origin knows that where several services are, a request must be known by host,
// by path or by a target group of its own.
func origin(f *facts, tell teller) {
	services := make(map[string]bool)
	for group := range f.members() {
		services[f.snapshot.Service(group)] = true
	}
	if len(services) < 2 || f.config.Origins {
		return
	}
	sharing := make(map[string]int)
	for _, g := range f.groups() {
		sharing[f.sinkOf(g, "")]++
	}
	for _, g := range f.groups() {
		if len(g.Hosts)+len(g.Paths) == 0 && sharing[f.sinkOf(g, "")] > 1 {
			tell(Warning, aboutGroup(g.ID), "there are several services, and no request is known to be this group's: it may get 503", "give the group --host or --path, a --detour-target-group of its own, or set DETOUR_ORIGINS")
		}
	}
}

// sources knows that a deployment pauses the first group, by id, that names it.
func sources(f *facts, tell teller) {
	first := make(map[string]string)
	for _, g := range f.groups() {
		for _, s := range g.Sources {
			kind, _, _, ok := cluster.ParseSource(s)
			other, taken := first[s]
			switch {
			case ok && taken && other != g.ID && kind != cluster.ASG:
				tell(Warning, aboutGroup(g.ID), "its source "+s+" is group "+other+"'s too: a deployment pauses that group alone", "name it in one group")
			case ok && !taken:
				first[s] = g.ID
			case !ok:
				tell(Wrong, aboutGroup(g.ID), "its source "+s+" has none of the known forms: events of AWS are not taken for the group's", "write asg:NAME, ecs:CLUSTER/SERVICE or codedeploy:APP/GROUP")
			}
		}
	}
}

func ruleSink(f *facts, tell teller) {
	for _, g := range f.groups() {
		if len(g.Rules) > 0 && f.sinkOf(g, "") == "" {
			tell(Wrong, aboutGroup(g.ID), "it lists rules, and no target group of the redirect function is known: they are never moved", "detour group put "+g.ID+" --detour-target-group ARN, or set DETOUR_TARGET_GROUP")
		}
		for _, arn := range g.MovedRules() {
			if !strings.Contains(arn, ":listener-rule/app/") {
				tell(Wrong, aboutGroup(g.ID), arn+" is no ARN of an Application Load Balancer's rule", "name the rule by its ARN: aws elbv2 describe-rules")
			}
		}
	}
}
