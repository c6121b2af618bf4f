package selection

import (
	"maps"
	"slices"

	"github.com/detourhq/detour/pkg/cluster"
)

// Table is a snapshot made ready for picking: built once, used for many picks,
// safe for concurrent use.
type Table struct {
	snapshot   *cluster.Snapshot
	config     Config
	candidates []candidate // beside snapshot.Nodes
	services   map[string]*service
	groups     map[string]*group
	routes     map[string][]*candidate // who goes by a session route; nil if nobody does

	from, until cluster.Millis // the pauses stand as built in [from, until)

	unpaused int            // nodes that are neither paused as a whole nor say so
	fresh    cluster.Millis // the last instant at which one of them is not stale
	anyone   bool           // a node may be offered in one of its contexts
	anyFresh cluster.Millis // the last instant at which such a node is not stale
}

// service is what the groups of one service have in common.
type service struct {
	contexts contextSet        // of its nodes, offered or not
	paths    contextSet        // of its groups' records
	pools    map[string]*shelf // all its nodes, by context
	anywhere []*candidate      // who may be offered in some context
}

// group is one group of a service.
type group struct {
	service *service
	order   []*group          // itself, then its fallbacks
	pools   map[string]*shelf // its nodes, by context
}

// shelf holds the pools of one context, nil where a tier has no node.
type shelf [tiers]*pool

// pool returns the pool of tier t for path; all may be nil.
func (s *service) pool(path string, t tier) *pool { return s.pools[s.contexts.match(path)].at(t) }

// pool is the same for one group. Which context counts is its service's matter.
func (g *group) pool(path string, t tier) *pool { return g.pools[g.service.contexts.match(path)].at(t) }

func (s *shelf) at(t tier) *pool {
	if s == nil {
		return nil
	}
	return s[t]
}

// Context returns the longest context registered in service that is a prefix of
// path by whole segments, empty if there is none.
func (t *Table) Context(service, path string) string {
	if s := t.services[service]; s != nil {
		return s.contexts.match(path)
	}
	return ""
}

// Snapshot returns what t was built from.
func (t *Table) Snapshot() *cluster.Snapshot { return t.snapshot }

// Valid reports whether t may be used at now: no pause ended or hardened between
// now and the instant for which t was built. Otherwise build another.
func (t *Table) Valid(now cluster.Millis) bool { return t.from <= now && now < t.until }

// FailOpen reports whether staleness is ignored at now, because every node of the
// cluster that is neither paused nor says so looks stale. Then the pulses are
// likelier to be at fault than all the nodes. One node alone does not count.
func (t *Table) FailOpen(now cluster.Millis) bool {
	return t.unpaused >= 2 && t.snapshot.LivenessAt(now) > t.fresh
}

// AnyOffered reports whether there is a service and a path for which a node, of
// whatever role, can be picked at now.
func (t *Table) AnyOffered(now cluster.Millis) bool {
	return t.anyone && (t.snapshot.LivenessAt(now) <= t.anyFresh || t.FailOpen(now))
}

// Services returns the services of all groups that have a node or a record, in
// order. The default service is the empty one.
func (t *Table) Services() []string { return slices.Sorted(maps.Keys(t.services)) }
