package gate

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestASessionCountsUntilItIsSilent(t *testing.T) {
	s := newSessions(10e9)
	s.see("a", after(0))
	s.see("b", after(5))
	s.see("a", after(9))
	assert.EqualValues(t, 2, s.count(after(9)))
	s.see("b", after(12))
	assert.EqualValues(t, 2, s.count(after(19)), "a was silent for ten seconds, b for seven")
	assert.EqualValues(t, 1, s.count(after(21)), "no longer than two periods")
	assert.Zero(t, s.count(after(30)))
	s.see("c", after(31))
	assert.Zero(t, s.count(after(100)))
	s.see("d", after(101))
	assert.EqualValues(t, 1, s.count(after(50)), "a clock that stepped back forgets nobody")
	s.forget("d")
	assert.Zero(t, s.count(after(50)))
}

func TestSessionsTakeBoundedMemory(t *testing.T) {
	s := newSessions(10e9)
	for i := range mostSessions + 1000 {
		s.see(fmt.Sprint(i), after(0))
	}
	assert.EqualValues(t, mostSessions, s.count(after(1)))
}

func TestSessionsAreEstimatedByWhatIsLetIn(t *testing.T) {
	w := newWorld(t, "n1", "n2")
	g, h := w.guarded()
	for _, r := range []struct {
		name, target, cookie string
		want                 int64
	}{
		{"none without a cookie", "/", "", 0},
		{"one with a cookie", "/", "a=b; JSESSIONID=1.route-n1", 1},
		{"the same one", "/", "JSESSIONID=1.route-n1", 1},
		{"another one", "/", "JSESSIONID=2.route-n1", 2},
		{"one by the path", "/shop;jsessionid=3.route-n1/x", "", 3},
		{"the secondary of a WebLogic session may change", "/", "JSESSIONID=4!-111!222!99", 4},
		{"and it stays the same one", "/", "JSESSIONID=4!-111!333!98", 4},
		{"a name that only holds the cookie's is another (modcluster/mod_cluster#153)", "/", "XJSESSIONID=5; JSESSIONID2=6", 4},
	} {
		header := []string{}
		if r.cookie != "" {
			header = []string{"Cookie", r.cookie}
		}
		assert.Equal(t, 200, ask(h, "GET", r.target, header...).Code)
		assert.Equal(t, r.want, g.Figures().Sessions, r.name)
	}
	w.pause("node:n1", cluster.Pause{})
	assert.NoError(t, g.Look(t.Context()))
	assert.Equal(t, 307, ask(h, "GET", "/", "Cookie", "JSESSIONID=1.route-n1").Code)
	assert.EqualValues(t, 3, g.Figures().Sessions, "what was led away lives elsewhere")
}

// In a drain the sessions that stay are the ones that are waited for.
func TestAGroupsOwnCookieNamesItsSessions(t *testing.T) {
	w := newWorld(t, "n1", "n2")
	w.change(func(s *cluster.Snapshot) {
		s.Groups = map[string]cluster.Group{"blue": {ID: "blue", Affinity: cluster.Affinity{Cookie: "SID"}}}
	})
	w.pause("node:n1", cluster.Pause{Mode: cluster.Drain})
	for _, configured := range []string{"JSESSIONID", ""} {
		g, h := w.guarded(func(c *Config) { c.Redirect.SessionCookie = configured })
		assert.Equal(t, 200, ask(h, "GET", "/", "Cookie", "SID=1.route-n1; JSESSIONID=2").Code)
		assert.Equal(t, 200, ask(h, "GET", "/shop;sid=3.route-n1").Code)
		assert.EqualValues(t, 2, g.Figures().Sessions)
		assert.Equal(t, 200, ask(h, "GET", "/_health").Code, "the load balancer leaves them here")
	}
}

func TestTheApplicationMayCountItsSessions(t *testing.T) {
	g, _ := newWorld(t, "n1").guarded(func(c *Config) { c.Sessions = func() int64 { return 42 } })
	assert.EqualValues(t, 42, g.Figures().Sessions)
}
