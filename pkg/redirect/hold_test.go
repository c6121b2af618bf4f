package redirect

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestWhetherWaitingMayHelp(t *testing.T) {
	ill := func() *cluster.Snapshot {
		return grouped(nodes(well("b1", "blue", status(cluster.Faulty)), well("g1", "green", status(cluster.Faulty))), cluster.Group{ID: "blue"}, cluster.Group{ID: "green"})
	}
	on := func(s *cluster.Snapshot, target string, m cluster.Mode) *cluster.Snapshot {
		return covered(s, target, cluster.Pause{Mode: m})
	}
	all := func() *cluster.Snapshot { return family(cluster.Affinity{}) }
	hold, stop := cluster.Hold, cluster.Stop
	for _, c := range []struct {
		name   string
		s      *cluster.Snapshot
		origin string
		req    *Request
		status int
		want   bool
	}{
		{"the group is on hold", on(all(), "group:blue", hold), "blue", get("/x"), 307, true},
		{"another is", on(all(), "group:green", hold), "blue", get("/x"), 307, false},
		{"the node is", on(all(), "node:b1", hold), "blue/b1", get("/x"), 307, true},
		{"the node's group is", on(all(), "group:blue", hold), "blue/b1", get("/x"), 307, true},
		{"another node is", on(all(), "node:b2", hold), "blue/b1", get("/x"), 307, false},
		{"the node's context is", on(all(), "context:b2/shop", hold), "blue/b2", get("/shop/x"), 307, true},
		{"another context is", on(all(), "context:b2/shop", hold), "blue/b2", get("/x"), 307, false},
		{"a node that nobody registered is", on(all(), "node:b9", hold), "blue/b9", get("/x"), 307, true},
		{"everything is", on(all(), "all", hold), "blue", get("/x"), 503, true},
		{"a harsher pause is too", on(on(all(), "group:blue", hold), "node:b1", cluster.Redirect), "blue/b1", get("/x"), 307, false},
		{"a milder one is", on(on(all(), "group:blue", hold), "node:b1", cluster.Drain), "blue/b1", get("/x"), 307, true},
		{"the hold has ended", covered(all(), "group:blue", cluster.Pause{Mode: hold, Until: now}), "blue", get("/x"), 307, false},
		{"it has not", covered(all(), "group:blue", cluster.Pause{Mode: hold, Until: now + 1}), "blue", get("/x"), 307, true},
		{"the pause redirects", on(all(), "group:blue", cluster.Redirect), "blue", get("/x"), 307, false},
		{"a drain that has become a redirect", covered(all(), "group:blue", cluster.Pause{Mode: cluster.Drain, Deadline: now}), "blue", get("/x"), 307, false},

		{"the session's node is on hold, the origin is not", on(all(), "node:b1", hold), "green", get("/x", "Cookie: JSESSIONID=abc.n1"), 307, true},
		{"the session goes on elsewhere", on(all(), "group:blue", hold), "blue", get("/x", "Cookie: JSESSIONID=abc.n3"), 307, false},
		{"the session's node is on hold, the origin on stop", on(on(all(), "node:b1", hold), "node:b9", stop), "blue/b9", get("/x", "Cookie: JSESSIONID=abc.n1"), 307, false},

		{"nobody is offered", ill(), "blue", get("/x"), 503, true},
		{"nor is the origin known", ill(), "", get("/x"), 503, true},
		{"nobody is, and the origin redirects", on(ill(), "group:blue", cluster.Redirect), "blue", get("/x"), 503, true},
		{"nobody is, and the origin is on stop", on(ill(), "group:blue", stop), "blue", get("/x"), 503, false},
		{"nobody is, and another group is on stop", on(ill(), "group:green", stop), "blue", get("/x"), 503, true},
		{"everything is on stop", on(ill(), "all", stop), "", get("/x"), 503, false},
		{"nobody is registered", nodes(), "", get("/x"), 503, true},
		{"all are overloaded", nodes(well("b1", "blue", status(cluster.Overloaded))), "", get("/x"), 503, true},

		{"a loop ends", on(all(), "group:blue", hold), "blue", get("/x?detour=" + state(3, now)), 503, false},
		{"no node serves the path", on(grouped(nodes(well("b1", "blue", contexts("/shop"))), cluster.Group{ID: "blue"}), "group:green", hold), "green", get("/x"), 404, false},
		{"the address is too long", on(all(), "group:blue", hold), "blue", get("/" + strings.Repeat("x", maxLocation)), 414, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := redirector(sessions)
			if c.origin != "" {
				r = redirector(sessions, rules("tg="+c.origin))
			}
			d := answer(r, through("tg", c.req), c.s, now)
			require.Equal(t, c.status, d.Status)
			assert.Equal(t, c.want, d.Hold)
		})
	}
}

func TestNobodyWaitsForAServiceThatIsNotClear(t *testing.T) {
	d := answer(redirector(), get("/"), grouped(nodes(well("b1", "blue"), well("s1", "shop")), cluster.Group{ID: "shop", Service: "shop"}), now)
	require.Equal(t, 503, d.Status)
	assert.False(t, d.Hold)
	assert.False(t, redirector().Lost(get("/"), "gone").Hold)
}

func TestOverloadIsNamed(t *testing.T) {
	overloaded := nodes(well("b1", "blue", status(cluster.Overloaded)), well("b2", "blue", status(cluster.Faulty)))
	d := answer(redirector(), get("/"), overloaded, now)
	assert.Equal(t, Unavailable, d.Outcome)
	assert.Contains(t, d.Reason, "overload")
	assert.Contains(t, d.Body, "overload")
	assert.Equal(t, "5", d.Header.Get("Retry-After"))
	assert.NotContains(t, answer(redirector(), get("/"), nodes(well("b2", "blue", status(cluster.Faulty))), now).Reason, "overload")
	overloaded.Nodes = append(overloaded.Nodes, well("b3", "blue"))
	assert.Equal(t, "https://b3.example.com/", led(answer(redirector(), get("/"), overloaded, now)))
}
