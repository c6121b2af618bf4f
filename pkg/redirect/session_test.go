package redirect

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func routes(r ...string) func(*cluster.Node) { return func(n *cluster.Node) { n.Routes = r } }

func sessions(c *Config) { c.SessionCookie = "JSESSIONID" }

// covered returns s with p on the target.
func covered(s *cluster.Snapshot, target string, p cluster.Pause) *cluster.Snapshot {
	paused(s, target, 0)
	t, _ := cluster.ParseTarget(target)
	s.Pauses[t] = p
	return s
}

// family is a group of two, and one of one, whose nodes go by routes.
func family(blue cluster.Affinity) *cluster.Snapshot {
	return grouped(nodes(
		well("b1", "blue", routes("n1", "-111")),
		well("b2", "blue", routes("n2", "-222"), contexts("/shop")),
		well("g1", "green", routes("n3", "v3"), contexts("/", "/shop")),
	), cluster.Group{ID: "blue", Affinity: blue}, cluster.Group{ID: "green"})
}

func drained(s *cluster.Snapshot, target string, deadline cluster.Millis) *cluster.Snapshot {
	return covered(s, target, cluster.Pause{Mode: cluster.Drain, Deadline: deadline})
}

func TestARequestFollowsItsSession(t *testing.T) {
	const b1, b2, g1 = "https://b1.example.com", "https://b2.example.com", "https://g1.example.com"
	blue := func() *cluster.Snapshot { return drained(family(cluster.Affinity{}), "group:blue", now+1000) }
	of := func(a cluster.Affinity) *cluster.Snapshot { return drained(family(a), "group:blue", 0) }
	over := func(a cluster.Affinity) *cluster.Snapshot { return drained(family(a), "group:blue", now) }
	for _, c := range []struct {
		name string
		s    *cluster.Snapshot
		req  *Request
		want string
	}{
		// envoyproxy/envoy#7218, emissary-ingress/emissary#1473, kubernetes/ingress-nginx#13484
		{"a session stays with its drained node", blue(), get("/x", "Cookie: a=b; JSESSIONID=abc.n1"), b1 + "/x"},
		{"a client without one goes to a peer at once", blue(), get("/x"), g1 + "/x"},
		{"a name that contains the cookie's (MODCLUSTER-461, modcluster/mod_cluster#153)", blue(), get("/x", "Cookie: XJSESSIONID=abc.n1; JSESSIONID2=abc.n1"), g1 + "/x"},
		{"a name in other letters", blue(), get("/x", "Cookie: jsessionid=abc.n1"), g1 + "/x"},
		// ansible/ansible#37591, oracle/weblogic-kubernetes-operator#2635, #3295
		{"not past the deadline", over(cluster.Affinity{}), get("/x", "Cookie: JSESSIONID=abc.n1"), g1 + "/x"},
		{"nobody is gone back to", blue(), get("/x?detour="+state(1, now, "b1"), "Cookie: JSESSIONID=abc.n1"), g1 + "/x"},
		{"by the path, which holds the session from now on", blue(), get("/x;jsessionid=abc.n1"), b1 + "/x;jsessionid=abc.n1"},
		{"whose context is found behind the session", of(cluster.Affinity{}), get("/shop;jsessionid=abc.n2/cart"), b2 + "/shop;jsessionid=abc.n2/cart"},
		{"the cookie goes before the path", blue(), get("/x;jsessionid=abc.n3", "Cookie: JSESSIONID=abc.n1"), b1 + "/x;jsessionid=abc.n3"},
		{"the path counts where the cookie names nobody", blue(), get("/x;jsessionid=abc.n1", "Cookie: JSESSIONID=abc.gone"), b1 + "/x;jsessionid=abc.n1"},
		{"the first of two cookies that names somebody", blue(), get("/x", "Cookie: JSESSIONID=abc.gone", "cookie: JSESSIONID=abc.n1"), b1 + "/x"},
		{"and of two in one field", blue(), get("/x", "Cookie: JSESSIONID=abc.gone; JSESSIONID=abc.n1"), b1 + "/x"},
		{"ranked routes (UNDERTOW-1432, undertow-io/undertow#737)", blue(), get("/x", "Cookie: JSESSIONID=abc.gone.n1"), b1 + "/x"},
		{"in a context that its node does not serve it moves", blue(), get("/shop", "Cookie: JSESSIONID=abc.n1"), g1 + "/shop"},
		{"WebLogic's primary", blue(), get("/shop", "Cookie: JSESSIONID=abc!-222!-111!1300000000000"), b2 + "/shop"},
		{"its secondary while the primary is away", covered(family(cluster.Affinity{}), "node:b2", cluster.Pause{Mode: cluster.Redirect}), get("/x", "Cookie: JSESSIONID=abc!-222!-111"), b1 + "/x"},
		{"WebSphere's clone after failover", blue(), get("/x", "Cookie: JSESSIONID=0000A2MB4IJozU:dead:v3"), g1 + "/x"},
		{"the group's own cookie", of(cluster.Affinity{Cookie: "SID"}), get("/x", "Cookie: SID=abc.n1; JSESSIONID=abc.n3"), b1 + "/x"},
		{"and its parameter", of(cluster.Affinity{Cookie: "SID"}), get("/x;sid=abc.n1"), b1 + "/x;sid=abc.n1"},
		{"and its format alone", of(cluster.Affinity{Format: "weblogic"}), get("/x", "Cookie: JSESSIONID=abc.n1"), g1 + "/x"},
		{"a format that nobody knows counts as none", of(cluster.Affinity{Format: "?"}), get("/x", "Cookie: JSESSIONID=abc.n1"), b1 + "/x"},
		{
			"never from https to http", drained(nodes(well("b1", "blue", routes("n1"), at("http://b1.example.com")), well("g1", "green")), "group:blue", 0),
			get("/x", "Cookie: JSESSIONID=abc.n1", "X-Forwarded-Proto: https"), g1 + "/x",
		},

		{"strict: inside its domain it may move", covered(family(cluster.Affinity{Strict: true}), "node:b1", cluster.Pause{}), get("/shop", "Cookie: JSESSIONID=abc.n1"), b2 + "/shop"},
		{"strict: outside of it is 503", over(cluster.Affinity{Strict: true}), get("/x", "Cookie: JSESSIONID=abc.n1"), "503"},
		{"strict: who names nobody known is free", over(cluster.Affinity{Strict: true}), get("/x", "Cookie: JSESSIONID=abc.gone"), g1 + "/x"},
		{"strict: who has no session too", over(cluster.Affinity{Strict: true}), get("/x"), g1 + "/x"},
		{"strict: a fallback belongs to the domain", grouped(over(cluster.Affinity{}), cluster.Group{ID: "blue", Fallbacks: []string{"green"}, Affinity: cluster.Affinity{Strict: true}}), get("/x", "Cookie: JSESSIONID=abc.n1"), g1 + "/x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := answer(redirector(sessions, rules("tg=blue")), through("tg", c.req), c.s, now)
			assert.Equal(t, c.want, led(d))
		})
	}
}

func TestASessionStaysWhereItsNodeIsTheOrigin(t *testing.T) {
	r, req := redirector(sessions, rules("tg=blue/b1")), through("tg", get("/x", "Cookie: JSESSIONID=abc.n1"))
	for later, want := range map[cluster.Millis]string{999: "https://b1.example.com/x", 1000: "https://g1.example.com/x"} {
		assert.Equal(t, want, led(answer(r, req, drained(family(cluster.Affinity{}), "node:b1", now+1000), now+later)), later)
	}
	s := drained(family(cluster.Affinity{}), "node:b1", 0)
	assert.Equal(t, "https://g1.example.com/x", led(answer(r, req, covered(s, "group:blue", cluster.Pause{Mode: cluster.Hold}), now)), "every cover must be a drain")
}

func TestADeadSessionsCookieIsExpired(t *testing.T) {
	expire := cluster.Affinity{ExpireDead: true}
	gone := "Cookie: JSESSIONID=abc.n1"
	for _, c := range []struct {
		name   string
		rule   cluster.Affinity
		target string
		fields []string
		want   string
	}{
		{"for the context, on this host", expire, "/shop/cart", []string{gone}, "JSESSIONID=; Path=/shop; Max-Age=0; HttpOnly"},
		{"over https", expire, "/x", []string{gone, "X-Forwarded-Proto: https"}, "JSESSIONID=; Path=/; Max-Age=0; HttpOnly; Secure"},
		{"the group's own", cluster.Affinity{Cookie: "SID", ExpireDead: true}, "/x", []string{"Cookie: SID=abc.gone"}, "SID=; Path=/; Max-Age=0; HttpOnly"},
		{"not where the group does not ask", cluster.Affinity{}, "/x", []string{gone}, ""},
		{"nor where it names nobody at all", expire, "/x", []string{"Cookie: JSESSIONID=abc"}, ""},
		{"nor where the path has it", expire, "/x;jsessionid=abc.n1", nil, ""},
		{"nor of a session that is led home", expire, "/x", []string{"Cookie: JSESSIONID=abc.n3"}, ""},
	} {
		r := redirector(sessions, rules("tg=blue"))
		d := answer(r, through("tg", get(c.target, c.fields...)), paused(family(c.rule), "group:blue", 0), now)
		require.Equal(t, 307, d.Status, c.name)
		assert.Equal(t, c.want, d.Header.Get("Set-Cookie"), c.name)
	}
	s := covered(paused(family(expire), "group:blue", 0), "group:blue", cluster.Pause{Mode: cluster.Hold})
	d := answer(redirector(sessions, rules("tg=blue")), through("tg", get("/x", gone)), s, now)
	assert.Equal(t, "https://g1.example.com/x", led(d))
	assert.Empty(t, d.Header.Get("Set-Cookie"), "a session whose node is on hold lives")
	s = grouped(family(expire), cluster.Group{ID: "blue", Affinity: expire}, cluster.Group{ID: "green", Service: "news"})
	d = answer(redirector(sessions, rules("tg=blue")), through("tg", get("/x", "Cookie: JSESSIONID=abc.n3")), s, now)
	assert.Equal(t, "https://b1.example.com/x", led(d))
	assert.Empty(t, d.Header.Get("Set-Cookie"), "so does one of another service")
	strict := paused(family(cluster.Affinity{ExpireDead: true, Strict: true}), "node:b1", 0)
	d = answer(redirector(sessions, rules("tg=blue")), through("tg", get("/shop", gone)), strict, now)
	assert.Equal(t, "https://b2.example.com/shop", led(d))
	assert.Empty(t, d.Header.Get("Set-Cookie"), "inside its domain a session lives")
}

func TestWhetherARequestMayStayAtItsNode(t *testing.T) {
	own := cluster.Affinity{Cookie: "SID"}
	for _, c := range []struct {
		name string
		s    *cluster.Snapshot
		req  *Request
		node string
		want bool
	}{
		{"its session lives there", drained(family(own), "node:b1", now+1), get("/x", "Cookie: SID=abc.n1"), "b1", true},
		{"and it was led there", drained(family(own), "node:b1", now+1), get("/x?detour="+state(1, now, "b1"), "Cookie: SID=abc.n1"), "b1", true},
		{"until the deadline", drained(family(own), "node:b1", now), get("/x", "Cookie: SID=abc.n1"), "b1", false},
		{"it lives elsewhere", drained(family(own), "node:b1", 0), get("/x", "Cookie: SID=abc.n3"), "b1", false},
		{"by the cookie of another group", drained(family(own), "node:b1", 0), get("/x", "Cookie: JSESSIONID=abc.n1"), "b1", false},
		{
			"whatever host says of other groups", drained(grouped(family(own), cluster.Group{ID: "green", Hosts: []string{"app.example.com"}}), "node:b1", 0),
			get("/x", "Host: app.example.com", "Cookie: SID=abc.n1"), "b1", true,
		},
		{"there is no session", drained(family(own), "node:b1", 0), get("/x"), "b1", false},
		{"the node is not registered", family(own), get("/x", "Cookie: SID=abc.n1"), "b9", false},
	} {
		assert.Equal(t, c.want, redirector(sessions).Stays(c.req, c.s, now, c.node), c.name)
	}
}

// A drained node's gate lets its own sessions in, and nobody goes in circles.
func TestFunctionAndGateAgreeOnSessions(t *testing.T) {
	s := drained(family(cluster.Affinity{}), "group:blue", now+1000)
	function, gate := redirector(sessions, rules("tg=blue")), redirector(sessions, rules("path:/=blue/b1"))
	req := through("tg", get("/x", "Cookie: JSESSIONID=abc.n1"))
	d := answer(function, req, s, now)
	require.Equal(t, "https://b1.example.com/x", led(d))
	req = get(d.Header.Get("Location")[len("https://b1.example.com"):], "Cookie: JSESSIONID=abc.n1")
	assert.True(t, gate.Stays(req, s, now, "b1"))

	late := now.Add(time.Second) // the deadline passes on the way
	require.False(t, gate.Stays(req, s, late, "b1"))
	assert.Equal(t, "https://g1.example.com/x", led(answer(gate, req, s, late)))
}

func TestASessionAllocatesLittleToo(t *testing.T) {
	s := fleet(100)
	for i := range s.Nodes {
		s.Nodes[i].Routes = []string{s.Nodes[i].ID}
	}
	for name, mode := range map[string]cluster.Mode{"b2": cluster.Drain, "elsewhere": cluster.Redirect} {
		covered(s, "group:blue", cluster.Pause{Mode: mode})
		r, req := redirector(sessions), typical()
		assert.Equal(t, mode == cluster.Drain, answer(r, req, s, now).Node.ID == "n00002")
		allocs := testing.AllocsPerRun(100, func() { r.Decide(req, s, now) })
		assert.LessOrEqual(t, allocs, 4.0, name)
	}
}
