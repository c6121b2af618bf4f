package rules

import (
	"math/rand/v2"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

// leavesNobody reports whether the redirect function would have nobody to lead a
// user of the group to, as the pauses stand: in one of the contexts that it
// serves, or, where no node of it serves any, in all that there are.
func leavesNobody(t *selection.Table, now cluster.Millis, group string) bool {
	s := t.Snapshot()
	rnd := rand.New(rand.NewPCG(0, 0)) // whom it is led to is of no account
	offered := func(path string) bool {
		_, outcome := t.Pick(selection.Query{Service: s.Service(group), Group: group, Path: path}, now, rnd)
		return outcome == selection.Picked
	}
	serves, anywhere := false, false
	for i := range s.Nodes {
		n := &s.Nodes[i]
		for _, path := range n.ContextList() {
			if n.Report.In(path) != cluster.Active {
				continue
			}
			somebody := offered(path)
			anywhere = anywhere || somebody
			if n.Group == group {
				serves = true
				if !somebody {
					return true
				}
			}
		}
	}
	return !serves && !anywhere
}
