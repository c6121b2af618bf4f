package redirect

import (
	"slices"
	"strings"

	"github.com/detourhq/detour/pkg/cluster"
)

// claim is a group's or a configured rule's word on what means it.
type claim struct {
	origin
	named  string   // what the ARN of the configured target group holds; empty means none
	arn    string   // of a target group
	hosts  []string // in the form of hostName
	paths  []string
	rule   bool // configured
	paused bool // a pause covers the whole of it
}

func groupClaim(g cluster.Group) claim {
	c := claim{origin: origin{group: g.ID, service: g.Service}, arn: g.DetourTargetGroup, paths: g.Paths}
	for _, h := range g.Hosts {
		c.hosts = append(c.hosts, hostName(h))
	}
	return c
}

func ruleClaim(r OriginRule, s *cluster.Snapshot) claim {
	c := claim{origin: origin{r.Group, r.Node, s.Service(r.Group)}, rule: true}
	if r.TargetGroup != "" {
		c.named = ":targetgroup/" + r.TargetGroup + "/"
	}
	if r.Host != "" {
		c.hosts = []string{r.Host}
	}
	if r.Path != "" {
		c.paths = []string{r.Path}
	}
	return c
}

// isPaused reports whether a pause in force at now covers all of o.
func (o *origin) isPaused(s *cluster.Snapshot, now cluster.Millis) bool {
	on := []cluster.Target{cluster.GroupTarget(o.group)}
	if o.node != "" {
		on = append(on, cluster.NodeTarget(o.node))
	}
	return slices.ContainsFunc(on, func(t cluster.Target) bool {
		p, ok := s.Pauses[t]
		return ok && p.Covers(now)
	})
}

// The weights of what matches, each more than all below it together.
const (
	byPause int64 = 1 << iota // a pause decides only between claims that match alike
	byRule                    // so does configuration, before that
	byPath                    // times the bytes of the prefix
)

const (
	byHost int64 = 1 << (30 + iota)
	byARN
	byName
	longestPath = 1 << 20 // times byPath is less than byHost
)

// rank says how well c matches a path, a host and a target group: 0 not at all,
// and more the narrower its word is.
func (c *claim) rank(path, host, arn string) (rank int64) {
	switch {
	case c.named != "" && strings.Contains(arn, c.named):
		rank += byName
	case c.arn != "" && c.arn == arn:
		rank += byARN
	}
	if host != "" && slices.Contains(c.hosts, host) {
		rank += byHost
	}
	longest := 0
	for _, p := range c.paths {
		if len(p) > longest && isUnder(path, p) {
			longest = len(p)
		}
	}
	rank += byPath * int64(min(longest, longestPath))
	if rank > 0 && c.rule {
		rank += byRule
	}
	if rank > 0 && c.paused {
		rank += byPause
	}
	return rank
}

// isUnder reports whether prefix is a prefix of path by whole segments.
func isUnder(path, prefix string) bool {
	return prefix == "/" || strings.HasPrefix(path, prefix) && (len(path) == len(prefix) || path[len(prefix)] == '/')
}
