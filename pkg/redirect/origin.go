package redirect

import (
	"cmp"

	"github.com/detourhq/detour/pkg/cluster"
)

// origin is what a request was meant for.
type origin struct {
	group   string // empty where only the service is known
	node    string // empty where a whole group, or more, is the origin
	service string
}

// label names the origin for people and statistics; "-" if it is a service only.
func (o origin) label() string { return cmp.Or(o.node, o.group, "-") }

// origins finds the origin of requests. It is built once per snapshot.
type origins struct {
	claims   []claim
	hosts    bool     // some claim names a host
	services []string // all that there are
}

func newOrigins(rules []OriginRule, services []string, s *cluster.Snapshot, now cluster.Millis) origins {
	o := origins{services: services}
	for _, g := range s.Groups {
		o.claims = append(o.claims, groupClaim(g))
	}
	for _, r := range rules {
		o.claims = append(o.claims, ruleClaim(r, s))
	}
	for i := range o.claims {
		o.claims[i].paused = o.claims[i].isPaused(s, now)
		o.hosts = o.hosts || len(o.claims[i].hosts) > 0
	}
	return o
}

// find returns the origin of a request for path, which was sent to host and came
// through the target group whose ARN is arn. ok is false when it
// could be any of several services: nobody can stand in for an unknown one.
//
// A configured target group decides, then the group that names the target group
// as its own, then host, then the longest path. Where several match alike, a
// configured one goes before what groups say of themselves, then a paused one is
// meant, and else only their service is known.
func (o *origins) find(path, host, arn string) (found origin, ok bool) {
	if o.hosts {
		host = hostName(host)
	}
	best, clear := int64(0), true
	for i := range o.claims {
		switch rank := o.claims[i].rank(path, host, arn); {
		case rank == 0 || rank < best:
		case rank > best:
			best, found, clear = rank, o.claims[i].origin, true
		case o.claims[i].origin != found:
			clear = clear && o.claims[i].service == found.service
			found = origin{service: found.service}
		}
	}
	switch {
	case best > 0 && clear:
		return found, true
	case best == 0 && len(o.services) == 1:
		return origin{service: o.services[0]}, true
	}
	return origin{}, best == 0 && len(o.services) == 0
}
