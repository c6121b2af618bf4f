package selection

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// model says who may be picked in the plainest way, node by node.
type model struct {
	s   *cluster.Snapshot
	q   Query
	now cluster.Millis
}

func (m model) failOpen() bool {
	unpaused, fresh := 0, 0
	for i := range m.s.Nodes {
		n := &m.s.Nodes[i]
		if _, _, covered := m.s.Cover(n, "", m.now); covered || n.Report.Status == cluster.Paused {
			continue
		}
		unpaused++
		if !n.Stale(m.s.LivenessAt(m.now), timeout) {
			fresh++
		}
	}
	return unpaused >= 2 && fresh == 0
}

// offered says whether n is offered in context, its role apart.
func (m model) offered(n *cluster.Node, context string) bool {
	_, _, covered := m.s.Cover(n, context, m.now)
	return slices.Contains(n.ContextList(), context) && n.Report.In(context) == cluster.Active && !covered &&
		(!n.Stale(m.s.LivenessAt(m.now), timeout) || m.failOpen()) && n.ID != m.q.Node && (!m.q.Secure || strings.HasPrefix(n.Endpoint, "https:")) && !slices.Contains(m.q.Visited, MarkOf(n.ID))
}

func (m model) context(service string) string {
	var all []string
	for _, n := range m.s.Nodes {
		if m.s.Service(n.Group) == service {
			all = append(all, n.ContextList()...)
		}
	}
	return longestAbove(all, m.q.Path)
}

// qualified returns the nodes of a class, in one group or (where that is empty)
// in all of the service, that are offered to the query.
func (m model) qualified(service, group string, standby, hasWeight bool) (ids []string) {
	for i := range m.s.Nodes {
		n := &m.s.Nodes[i]
		class := n.Role != cluster.Console && (n.Role == cluster.Standby) == standby && (n.Weight > 0) == hasWeight
		here := m.s.Service(n.Group) == service && (group == "" || n.Group == group)
		if class && here && m.offered(n, m.context(service)) {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// order returns the origin's group and its fallbacks, as far as there are such groups.
func (m model) order() (groups []string) {
	for _, id := range append([]string{m.q.Group}, m.s.Groups[m.q.Group].Fallbacks...) {
		_, exists := m.s.Groups[id]
		if exists || slices.ContainsFunc(m.s.Nodes, func(n cluster.Node) bool { return n.Group == id }) {
			groups = append(groups, id)
		}
	}
	return groups
}

// possible returns everyone who may be picked.
func (m model) possible() []string {
	for _, standby := range []bool{false, true} {
		for _, hasWeight := range []bool{true, false} {
			for _, g := range m.order() {
				if ids := m.qualified(m.s.Service(g), g, standby, hasWeight); ids != nil {
					return ids
				}
			}
			if ids := m.qualified(m.q.Service, "", standby, hasWeight); ids != nil {
				return ids
			}
		}
	}
	return nil
}

// outcome says why nobody may be.
func (m model) outcome() Outcome {
	services := []string{m.q.Service}
	for _, g := range m.order() {
		services = append(services, m.s.Service(g))
	}
	for _, service := range services {
		if m.context(service) != "" {
			return m.overloaded()
		}
		for id, g := range m.s.Groups {
			if m.s.Service(id) == service && longestAbove(g.Paths, m.q.Path) != "" {
				return m.overloaded()
			}
		}
	}
	for i := range m.s.Nodes {
		n := &m.s.Nodes[i]
		if m.s.Service(n.Group) == m.q.Service && n.Role != cluster.Console &&
			slices.ContainsFunc(n.ContextList(), func(c string) bool { return m.offered(n, c) }) {
			return NoContext
		}
	}
	return m.overloaded()
}

func oneOf[T any](rnd *rand.Rand, of ...T) T { return of[rnd.IntN(len(of))] }

// rarely returns one of others in a third of the cases, else usual.
func rarely[T any](rnd *rand.Rand, usual T, others ...T) T {
	if rnd.IntN(3) > 0 {
		return usual
	}
	return oneOf(rnd, others...)
}

func someOf[T any](rnd *rand.Rand, most int, of ...T) (some []T) {
	for range rnd.IntN(most + 1) {
		some = append(some, oneOf(rnd, of...))
	}
	return some
}

var (
	someGroups = []string{"a", "b", "c", "d"}
	somePaths  = []string{"/", "/shop", "/shop/cart", "/shopping", "/a%2Fb"}
	someTimes  = []cluster.Millis{0, now - 1, now, now + 1, now + 500}
)

// randomNode returns a node that is much like usual.
func randomNode(rnd *rand.Rand, id string, usual cluster.Node) cluster.Node {
	n := well(id, oneOf(rnd, someGroups...))
	n.Contexts = rarely(rnd, usual.Contexts, nil, someOf(rnd, 3, somePaths...))
	n.Role = rarely(rnd, cluster.App, "", cluster.Standby, cluster.Standby, cluster.Console)
	n.Weight = rarely(rnd, 100, 50, 25, 30.5, 0, -1, math.NaN())
	n.Report.Status = rarely(rnd, cluster.Active, cluster.Paused, cluster.Starting, cluster.Overloaded, cluster.Overloaded, "")
	n.Report.Contexts = map[string]cluster.Status{oneOf(rnd, somePaths...): oneOf(rnd, cluster.Active, cluster.Paused)}
	n.Pulse = rarely(rnd, usual.Pulse, now, now.Add(-timeout), now.Add(-timeout)-1, now.Add(time.Hour))
	n.PulseMS = rarely[int64](rnd, 0, 5000, 20_000)
	n.Started = rarely(rnd, 0, now, now-10_000, now-30_000, now+99)
	n.Endpoint = rarely(rnd, n.Endpoint, "http://"+id+".example.com")
	n.Figures = oneOf(rnd, nil, &cluster.Figures{Load: float64(rnd.IntN(3))})
	return n
}

func randomSnapshot(rnd *rand.Rand) *cluster.Snapshot {
	s := nodes()
	s.Frozen, s.Time = rnd.IntN(8) == 0, now.Add(-rarely(rnd, 0, timeout))
	s.Pauses, s.Groups = map[cluster.Target]cluster.Pause{}, map[string]cluster.Group{}
	usual := well("", "", silent(rarely(rnd, 0, time.Minute)), contexts(oneOf(rnd, "/shop", "/"), oneOf(rnd, "/shop", "/shop/cart")))
	for _, i := range rnd.Perm(rnd.IntN(10)) {
		s.Nodes = append(s.Nodes, randomNode(rnd, fmt.Sprintf("n%d", i), usual))
	}
	for range rnd.IntN(3) {
		id := fmt.Sprintf("n%d", rnd.IntN(8))
		on := oneOf(rnd, cluster.NodeTarget(id), cluster.GroupTarget(oneOf(rnd, someGroups...)), contextTarget(id, oneOf(rnd, somePaths...)))
		if rnd.IntN(10) == 0 {
			on = cluster.All
		}
		s.Pauses[on] = cluster.Pause{
			Mode:     oneOf(rnd, cluster.Drain, cluster.Hold, cluster.Redirect, cluster.Stop, "nap"),
			Until:    oneOf(rnd, someTimes...),
			Deadline: oneOf(rnd, someTimes...),
		}
	}
	for range rnd.IntN(4) {
		s.Groups[oneOf(rnd, someGroups...)] = cluster.Group{
			Service:   oneOf(rnd, "", "", "x"),
			Fallbacks: someOf(rnd, 2, "a", "b", "c", "d", "gone"),
			Paths:     someOf(rnd, 1, "/blog", "/shop"),
		}
	}
	return s
}

func randomQuery(rnd *rand.Rand, s *cluster.Snapshot) Query {
	q := Query{
		Path:    oneOf(rnd, "/", "/shop", "/shop/", "/shop/cart/1", "/shopping", "/blog", "/a/b", "/a%2Fb/c"),
		Group:   oneOf(rnd, "", "a", "b", "c", "d", "gone"),
		Service: oneOf(rnd, "", "x"),
		Secure:  rnd.IntN(4) == 0,
		Key:     fmt.Sprint(rnd.Uint64()),
	}
	if q.Group != "" {
		q.Service = s.Service(q.Group)
	}
	for range rarely(rnd, 0, 1, 2) {
		q.Visited = append(q.Visited, MarkOf(fmt.Sprintf("n%d", rnd.IntN(8))))
	}
	if rnd.IntN(4) == 0 {
		q.Node = fmt.Sprintf("n%d", rnd.IntN(8))
	}
	return q
}

// everyone returns all that the random policy can pick without fade-in: each number
// is drawn again and again, and they lie closer together than the least share of a
// random node.
func everyone(table *Table, q Query, at cluster.Millis) (ids []string) {
	const positions = 128
	for i := range uint64(positions) {
		n, _ := table.Pick(q, at, constant(i*(math.MaxUint64/positions)))
		if n != nil && !slices.Contains(ids, n.ID) {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

func TestPickAgreesWithTheModel(t *testing.T) {
	rnd, seen, c := seeded(t), map[string]int{}, Config{PulseTimeout: timeout}
	for range 2000 {
		s := randomSnapshot(rnd)
		table := NewTable(s, now+cluster.Millis(rnd.IntN(3)-1), c)
		q := randomQuery(rnd, s)
		at := now + cluster.Millis(rnd.IntN(600)-1)
		if !table.Valid(at) {
			seen["built again"]++
			table = NewTable(s, at, c)
		}
		m := model{s, q, at}
		want, shown := m.possible(), []any{"snapshot %+v, query %+v, at now%+d", s, q, at - now}
		require.ElementsMatch(t, want, everyone(table, q, at), shown...)
		require.Equal(t, m.failOpen(), table.FailOpen(at), shown...)
		requireExplained(t, table, q, at, want)

		n, outcome := table.Pick(q, at, rnd)
		if n == nil {
			require.Equal(t, m.outcome(), outcome, shown...)
		}
		seen[[...]string{"a node", "nobody", "no context", "overloaded"}[outcome]]++
		if len(want) > 1 {
			seen["a choice"]++
		}
		if len(want) > 0 && m.failOpen() {
			seen["fail open"]++
		}
	}
	for _, what := range []string{"built again", "a node", "nobody", "no context", "overloaded", "fail open", "a choice"} {
		assert.Greaterf(t, seen[what], 20, "cases of %s among %v", what, seen)
	}
}

// requireExplained checks that all who may be picked are called offered, and that
// somebody is only if there is somebody to pick.
func requireExplained(t *testing.T, table *Table, q Query, at cluster.Millis, possible []string) {
	t.Helper()
	var ids []string
	for _, v := range table.Explain(q, at) {
		if v.Offered {
			ids = append(ids, v.Node.ID)
		}
	}
	require.Subset(t, ids, possible)
	require.Equal(t, len(possible) == 0, len(ids) == 0)
	if len(possible) > 0 {
		require.True(t, table.AnyOffered(at))
	}
}

func TestEveryPolicyPicksWhoMayBePicked(t *testing.T) {
	rnd := seeded(t)
	for range 1000 {
		s := randomSnapshot(rnd)
		q := randomQuery(rnd, s)
		want := model{s, q, now}.possible()
		for _, p := range policies {
			n, outcome := NewTable(s, now, config(p)).Pick(q, now, rnd)
			if len(want) == 0 {
				require.Nil(t, n)
				require.NotEqual(t, Picked, outcome)
			} else {
				require.Contains(t, want, picked(n, outcome), "%s: snapshot %+v, query %+v", p, s, q)
			}
		}
	}
}
