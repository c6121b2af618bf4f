package selection

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestATableIsValidWhileNoPauseEndsOrHardens(t *testing.T) {
	s := nodes(well("a", "g"))
	s.Pauses = map[cluster.Target]cluster.Pause{
		cluster.NodeTarget("a"):  {Mode: cluster.Redirect, Until: now + 1000},
		cluster.NodeTarget("b"):  {Mode: cluster.Drain, Until: now + 3000, Deadline: now + 500},
		cluster.GroupTarget("g"): {Mode: cluster.Redirect},
		cluster.All:              {Mode: cluster.Redirect, Until: now - 100}, // ended, not yet swept
	}
	for _, c := range []struct {
		name      string
		built, at cluster.Millis
		want      bool
	}{
		{"at once", now, now, true},
		{"just before the first change", now, now + 499, true},
		{"when a drain hardens", now, now + 500, false},
		{"built as a drain hardens", now + 500, now + 500, true},
		{"just before a pause ends", now + 500, now + 999, true},
		{"when a pause ends", now + 500, now + 1000, false},
		{"after the last change, for good", now + 3000, math.MaxInt64 - 1, true},
		{"a little earlier than built", now, now - 100, true},
		{"before a pause ended that was over when it was built", now, now - 101, false},
	} {
		assert.Equal(t, c.want, NewTable(s, c.built, config(Random)).Valid(c.at), c.name)
	}
	table := NewTable(s, now, config(Random))
	next, ok := s.NextChange(now)
	assert.True(t, ok)
	assert.True(t, table.Valid(next-1))
	assert.False(t, table.Valid(next), "as the snapshot says")
	assert.Same(t, s, table.Snapshot())
}

func TestFailOpen(t *testing.T) {
	const late = timeout + time.Millisecond
	for _, c := range []struct {
		name  string
		nodes []cluster.Node
		want  bool
	}{
		{"one stale node alone does not count", []cluster.Node{well("a", "g", silent(late))}, false},
		{"two stale nodes do", []cluster.Node{well("a", "g", silent(late)), well("b", "h", silent(late))}, true},
		{"one of two is just fresh", []cluster.Node{well("a", "g", silent(late)), well("b", "h", silent(timeout))}, false},
		{"slow pulses make it fresh", []cluster.Node{well("a", "g", silent(late)), well("b", "h", silent(late), pulsing(6*time.Second))}, false},
		{"a fresh one that is paused does not count", []cluster.Node{well("a", "g", silent(late)), well("b", "g", silent(late)), well("c", "g", status(cluster.Paused))}, true},
		{"nor one whose group is", []cluster.Node{well("a", "g", silent(late)), well("b", "g", silent(late)), well("c", "paused")}, true},
		{"so that one may be left, which is not enough", []cluster.Node{well("a", "g", silent(late)), well("b", "paused", silent(late))}, false},
		{"a fresh one in error counts", []cluster.Node{well("a", "g", silent(late)), well("b", "g", silent(late)), well("c", "g", status(cluster.Faulty))}, false},
		{"so does one that is paused in one context", []cluster.Node{well("a", "g", silent(late)), well("b", "g", silent(late)), well("c", "g", in("/", cluster.Paused))}, false},
		{"and a console", []cluster.Node{well("a", "g", silent(late)), well("b", "g", silent(late)), well("c", "g", role(cluster.Console))}, false},
		{"there is nobody", nil, false},
	} {
		s := nodes(c.nodes...)
		s.Pauses = paused(cluster.GroupTarget("paused"), cluster.Pause{Mode: cluster.Redirect})
		table := NewTable(s, now, config(Random))
		assert.Equal(t, c.want, table.FailOpen(now), c.name)
	}
}

func TestFailOpenIgnoresOnlyStaleness(t *testing.T) {
	s := nodes(well("a", "g", silent(time.Hour)), well("b", "g", silent(time.Hour), status(cluster.Faulty)),
		well("c", "g", silent(time.Hour), status(cluster.Paused)))
	table, rnd := NewTable(s, now, config(Random)), seeded(t)
	for range 50 {
		assert.Equal(t, "a", picked(table.Pick(Query{}, now, rnd)))
	}
}

func TestAnyOffered(t *testing.T) {
	const late = timeout + time.Millisecond
	for _, c := range []struct {
		name  string
		nodes []cluster.Node
		want  bool
	}{
		{"a well node", []cluster.Node{well("a", "g")}, true},
		{"one in a context of its own", []cluster.Node{well("a", "g", contexts("/a", "/b"), in("/a", cluster.Paused))}, true},
		{"paused in all its contexts", []cluster.Node{well("a", "g", in("/", cluster.Paused))}, false},
		{"just fresh", []cluster.Node{well("a", "g", silent(timeout))}, true},
		{"stale", []cluster.Node{well("a", "g", silent(late))}, false},
		{"stale, with a fresh one in error", []cluster.Node{well("a", "g", silent(late)), well("b", "g", status(cluster.Faulty))}, false},
		{"all stale", []cluster.Node{well("a", "g", silent(late)), well("b", "g", silent(late))}, true},
		{"all stale, none well", []cluster.Node{well("a", "g", silent(late), status(cluster.Faulty)), well("b", "g", silent(late), status(""))}, false},
		{"standby", []cluster.Node{well("a", "g", role(cluster.Standby))}, true},
		{"only a console", []cluster.Node{well("a", "g", role(cluster.Console))}, false},
		{"nobody", nil, false},
	} {
		assert.Equal(t, c.want, NewTable(nodes(c.nodes...), now, config(Random)).AnyOffered(now), c.name)
	}
}

func TestServices(t *testing.T) {
	s := nodes(well("a", "g"), well("b", "shop-blue"))
	s.Groups = map[string]cluster.Group{"shop-blue": {Service: "shop"}, "shop-green": {Service: "shop"}, "blog": {Service: "blog"}}
	assert.Equal(t, []string{"", "blog", "shop"}, NewTable(s, now, config(Random)).Services())
	assert.Empty(t, NewTable(nodes(), now, config(Random)).Services())
}
