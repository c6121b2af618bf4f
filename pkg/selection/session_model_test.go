package selection

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// keeper says in the plainest way who takes a session that names routes: the first
// that would be offered if no pause in mode drain covered it.
func (m model) keeper(routes []string) string {
	undrained := *m.s
	undrained.Pauses = map[cluster.Target]cluster.Pause{}
	for on, p := range m.s.Pauses {
		if p.ModeAt(m.now) != cluster.Drain {
			undrained.Pauses[on] = p
		}
	}
	o := model{&undrained, m.q, m.now}
	o.q.Node = "" // the origin is allowed
	failOpen := m.failOpen()
	for _, route := range routes {
		for _, n := range undrained.Nodes {
			service := m.s.Service(n.Group)
			serves := service == m.q.Service || slices.Contains(m.order(), n.Group)
			if failOpen { // who is stale is judged with the drains
				n.Pulse = m.now
			} else if o.failOpen() && n.Stale(m.s.LivenessAt(m.now), timeout) {
				continue
			}
			if slices.Contains(n.Routes, route) && serves && n.Role != cluster.Console && o.offered(&n, m.context(service)) {
				return n.ID
			}
		}
	}
	return ""
}

func TestSessionsAgreeWithTheModel(t *testing.T) {
	rnd, seen, c := seeded(t), map[string]int{}, Config{PulseTimeout: timeout}
	for range 3000 {
		s := randomSnapshot(rnd)
		for i := range s.Nodes {
			s.Nodes[i].Routes = someOf(rnd, 2, "r0", "r1", "r2", "r3")
			if rnd.IntN(2) == 0 {
				s.Pauses[cluster.NodeTarget(s.Nodes[i].ID)] = cluster.Pause{Mode: cluster.Drain, Deadline: oneOf(rnd, someTimes...)}
			}
		}
		q, at := randomQuery(rnd, s), now+cluster.Millis(rnd.IntN(3)-1)
		if len(s.Nodes) > 0 {
			q.Node = rarely(rnd, q.Node, s.Nodes[0].ID)
		}
		routes := someOf(rnd, 3, "r0", "r1", "r2", "r3", "gone")
		m, shown := model{s, q, at}, fmt.Sprintf("snapshot %+v, query %+v, routes %v, at now%+d", s, q, routes, at-now)
		got := NewTable(s, at, c).Session(&q, routes, at)
		want := m.keeper(routes)
		require.Equal(t, want, nameOr(got.Keeper, ""), shown)
		if got.Keeper == nil {
			continue
		}
		seen["kept"]++
		if _, p, covered := s.Cover(got.Keeper, m.context(s.Service(got.Keeper.Group)), at); covered {
			require.Equal(t, cluster.Drain, p.Mode, shown)
			seen["drained"]++
		}
		if got.Keeper.ID == q.Node {
			seen["origin"]++
		}
	}
	for _, what := range []string{"kept", "drained", "origin"} {
		assert.Greaterf(t, seen[what], 20, "cases of %s among %v", what, seen)
	}
}

// Without a session, routes change nothing.
func TestRoutesAloneChangeNoPick(t *testing.T) {
	rnd := seeded(t)
	for range 500 {
		s := randomSnapshot(rnd)
		q, seed := randomQuery(rnd, s), rnd.Uint64()
		n, before := NewTable(s, now, config(Random)).Pick(q, now, constant(seed))
		for i := range s.Nodes {
			s.Nodes[i].Routes = []string{s.Nodes[i].ID}
		}
		same, after := NewTable(s, now, config(Random)).Pick(q, now, constant(seed))
		require.Equal(t, before, after)
		require.Equal(t, nameOr(n, ""), nameOr(same, ""))
	}
}
