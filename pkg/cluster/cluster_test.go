package cluster

import (
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckID(t *testing.T) {
	for _, id := range []string{"a", "n-1.blue_2@eu", strings.Repeat("x", 128)} {
		assert.NoError(t, CheckID(id), id)
	}
	for _, id := range []string{"", strings.Repeat("x", 129), "a b", "a/b", "a:b", "ü", "a\n", "{a}"} {
		assert.ErrorIs(t, CheckID(id), ErrInvalid, id)
	}
}

func TestParseTarget(t *testing.T) {
	for _, s := range []string{"all", "node:n1", "group:blue", "context:n1/shop/a", "context:n1/"} {
		target, err := ParseTarget(s)
		require.NoError(t, err, s)
		assert.Equal(t, s, target.String())
	}
	for _, s := range []string{"", "n1", "node:", "node:a b", "group:", "context:n1", "context:/shop", "context:n1/shop/", "ALL", "all:x"} {
		_, err := ParseTarget(s)
		assert.ErrorIs(t, err, ErrInvalid, s)
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"all", "node:n1", "group:blue", "context:n1/shop", "context:n1/", "node:", "x:y", "context:a/b?c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if target, err := ParseTarget(s); err == nil && target.String() != s {
			t.Errorf("%q comes back as %q", s, target)
		}
	})
}

func TestCheckEndpoint(t *testing.T) {
	for _, s := range []string{
		"https://n2.example.com", "http://n2.example.com:8080", "https://192.0.2.7/base", "https://[2001:db8::1]:443/a/b",
		"https://n_2.example.com/a%20b", "https://xn--bcher-kva.example",
	} {
		assert.NoError(t, CheckEndpoint(s), s)
	}
	for _, s := range []string{
		"", "n2.example.com", "//n2.example.com", "ftp://n2.example.com", "HTTPS://n2.example.com", "https://", "https:///x",
		"https://a@b.example", "https://a:80@b.example", "https://a.example:0", "https://a.example:99999", "https://a.example:", "https://a.example:080",
		"https://::1/p", "https://[::1", "https://[fe80::1%25eth0]", "https://[192.0.2.1]", "https://bücher.example", "https://a..example", "https://-a.example",
		"https://a.example/", "https://a.example/b/", "https://a.example/b?c", "https://a.example/b#c", "https://a.example/%zz", "https://a.example/ ", "https://a.example?x",
		"https://a.example\\evil", "https://a.example\n", "https:a.example",
	} {
		assert.ErrorIs(t, CheckEndpoint(s), ErrInvalid, s)
	}
}

// Whatever passes is a URL of that very scheme and authority for everyone else.
func FuzzCheckEndpoint(f *testing.F) {
	for _, s := range []string{"https://n2.example.com:1/a", "http://[::1]:80", "https://a@b", "https://a.example%00", "https://a:b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if CheckEndpoint(s) != nil {
			return
		}
		u, err := url.Parse(s + "//evil.example/x")
		if err != nil || u.User != nil || u.Host == "" || !strings.HasPrefix(s, u.Scheme+"://"+u.Host) {
			t.Errorf("%q passes, but is %v (%v)", s, u, err)
		}
	})
}

func TestGenerationsAreOrdered(t *testing.T) {
	ordered := []Generation{"", "9007199254740992-x", "garbage", "0000000000005-b", "5-c", "0000000000006-a", "0000000000010-a", "1796000000000-00000000"}
	for i, a := range ordered {
		for j, b := range ordered {
			assert.Equal(t, i < j, a.Less(b), "%q < %q", a, b)
		}
	}
	assert.True(t, Generation("5-zz").Less(NewGeneration(5, "5-zz")), "a start in the same millisecond is later all the same")
	assert.True(t, Generation("9-zz").Less(NewGeneration(5, "9-zz", "garbage", "")), "and one after the clock stepped back")
}

func TestANodeIsStaleAfterItsTolerance(t *testing.T) {
	for _, c := range []struct {
		name    string
		pulse   Millis
		every   int64
		now     Millis
		timeout time.Duration
		stale   bool
	}{
		{"heard exactly the timeout ago", 1000, 0, 16_000, 15 * time.Second, false},
		{"heard a millisecond more ago", 1000, 0, 16_001, 15 * time.Second, true},
		{"three of its own long intervals ago", 1000, 10_000, 31_000, 15 * time.Second, false},
		{"more than three of them ago", 1000, 10_000, 31_001, 15 * time.Second, true},
		{"short intervals do not shorten the timeout", 1000, 100, 16_000, 15 * time.Second, false},
		{"a pulse in the future counts as now", 99_000, 0, 1000, 15 * time.Second, false},
		{"one as far off as a number goes", forever, 0, 1, 0, false},
		{"a silence as long as a number goes", 1, 0, forever, time.Hour, true},
		{"no tolerance at all", 1000, 0, 1001, 0, true},
		{"an interval beyond all numbers", 1000, math.MaxInt64, 1_800_000_000_000, 15 * time.Second, false},
		{"one below them", 1000, math.MinInt64, 16_001, 15 * time.Second, true},
		{"a timeout of parts of a millisecond", 1000, 0, 1001, time.Millisecond - 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := Node{Descriptor: Descriptor{PulseMS: c.every}, Pulse: c.pulse}
			assert.Equal(t, c.stale, n.Stale(c.now, c.timeout))
			until := n.FreshUntil(c.timeout)
			assert.False(t, n.Stale(until, c.timeout))
			assert.True(t, n.Stale(until+1, c.timeout))
		})
	}
}

func TestAPulseAtTheEndOfTimeNeverAges(t *testing.T) {
	n := Node{Pulse: math.MaxInt64}
	assert.Equal(t, Millis(math.MaxInt64), n.FreshUntil(time.Second))
	assert.False(t, n.Stale(math.MaxInt64, time.Second))
}

func TestTheHarshestCoverDecides(t *testing.T) {
	n := &Node{Descriptor: Descriptor{ID: "n1", Group: "blue"}}
	on := func(mode Mode, until, deadline Millis) Pause {
		return Pause{Mode: mode, Until: until, Deadline: deadline}
	}
	shop := Target{ContextKind, "n1", "/shop"}
	for _, c := range []struct {
		name    string
		pauses  map[Target]Pause
		context string
		want    Mode // empty for none
	}{
		{"nothing covers it", map[Target]Pause{NodeTarget("n2"): on(Stop, 0, 0), GroupTarget("green"): on(Stop, 0, 0)}, "", ""},
		{"all", map[Target]Pause{All: on(Drain, 0, 0)}, "", Drain},
		{"its group", map[Target]Pause{GroupTarget("blue"): on(Hold, 0, 0)}, "", Hold},
		{"itself", map[Target]Pause{NodeTarget("n1"): on(Redirect, 0, 0)}, "", Redirect},
		{"its context", map[Target]Pause{shop: on(Stop, 0, 0)}, "/shop", Stop},
		{"another context", map[Target]Pause{shop: on(Stop, 0, 0)}, "/other", ""},
		{"hold is harsher than drain", map[Target]Pause{All: on(Drain, 0, 0), NodeTarget("n1"): on(Hold, 0, 0)}, "", Hold},
		{"redirect than hold", map[Target]Pause{All: on(Redirect, 0, 0), NodeTarget("n1"): on(Hold, 0, 0)}, "", Redirect},
		{"stop than redirect", map[Target]Pause{All: on(Redirect, 0, 0), GroupTarget("blue"): on(Stop, 0, 0)}, "", Stop},
		{"ending a moment later", map[Target]Pause{All: on(Redirect, 1001, 0)}, "", Redirect},
		{"ending now", map[Target]Pause{All: on(Redirect, 1000, 0)}, "", ""},
		{"a drain before its deadline", map[Target]Pause{All: on(Drain, 0, 1001)}, "", Drain},
		{"a drain at its deadline", map[Target]Pause{All: on(Drain, 0, 1000)}, "", Redirect},
		{"a mode of another version", map[Target]Pause{All: on("freeze", 0, 0)}, "", Redirect},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Snapshot{Pauses: c.pauses}
			_, p, ok := s.Cover(n, c.context, 1000)
			assert.Equal(t, c.want != "", ok)
			assert.Equal(t, c.want, p.Mode)
		})
	}
}

func TestNextChange(t *testing.T) {
	s := &Snapshot{Pauses: map[Target]Pause{All: {Until: 50, Deadline: 20}, NodeTarget("a"): {Until: 30}, NodeTarget("b"): {}}}
	for now, want := range map[Millis]Millis{0: 20, 19: 20, 20: 30, 30: 50} {
		next, ok := s.NextChange(now)
		assert.True(t, ok)
		assert.Equal(t, want, next)
	}
	_, ok := s.NextChange(50)
	assert.False(t, ok)
}

func TestRegistryTimeGoesByTheWallClock(t *testing.T) {
	read := time.Now() // with a monotonic reading, which must not matter
	s := &Snapshot{Time: 1000, ReadAt: read}
	now, ok := s.Now(read.Add(250 * time.Millisecond).Round(0))
	assert.True(t, ok)
	assert.Equal(t, Millis(1250), now)
	now, ok = s.Now(read.Add(-time.Millisecond))
	assert.False(t, ok, "a clock that stepped back tells nothing")
	assert.Equal(t, Millis(1000), now)
}

func TestStaticNodesAreActiveForEver(t *testing.T) {
	s, err := Static([]string{" https://n1.example.com/ ", "http://192.0.2.1:8080/base"}, time.Now())
	require.NoError(t, err)
	require.Len(t, s.Nodes, 2)
	assert.Equal(t, "192.0.2.1-8080-base", s.Nodes[0].ID)
	assert.Equal(t, "https://n1.example.com", s.Nodes[1].Endpoint)
	assert.False(t, s.Nodes[0].Stale(Millis(time.Now().Add(1000*time.Hour).UnixMilli()), time.Second))
	for _, list := range [][]string{{"n1.example.com"}, {"https://a.example", "https://a.example/"}, {""}} {
		_, err := Static(list, time.Now())
		assert.ErrorIs(t, err, ErrInvalid)
	}
}

func TestDialRefusesWhatItCannotMean(t *testing.T) {
	for _, s := range []string{"", "://", "http://a.example", "redis://h:x/", "redis://h/0?cluster=maybe", "redis://h/0?nonsense=1"} {
		_, err := Dial(s, time.Second)
		assert.ErrorIs(t, err, ErrInvalid, s)
	}
	_, err := Dial("redis://user:secret@h:6379/0?nonsense=1", time.Second)
	assert.NotContains(t, err.Error(), "secret")
	for _, s := range []string{"redis://h:6379", "rediss://u:p@h/2", "redis://h:6379?cluster=true&addr=h2:6379", "redis://h?cluster=false"} {
		assert.NoError(t, CheckURL(s), s)
	}
}
