package redirect

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http/httpguts"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

// town is a registry with something of everything.
func town() *cluster.Snapshot {
	s := grouped(nodes(
		well("b1", "blue", routes("r1")),
		well("b2", "blue", routes("r2", "r1"), contexts("/shop", "/blog")),
		well("b3", "blue", routes("r3"), contexts("/shop")),
		well("g1", "green", routes("-1"), at("http://g1.example.com:8080/base")),
		well("g2", "green", status(cluster.Overloaded)),
		well("s1", "shop", at("https://[2001:db8::1]:8443")),
		well("s2", "shop", func(n *cluster.Node) { n.Role = cluster.Standby })),
		detoured("blue", "", "paused", hosts("app.example.com"), paths("/blue"), func(g *cluster.Group) { g.Affinity = cluster.Affinity{Cookie: "SID", ExpireDead: true} }),
		detoured("green", "", "paused", paths("/"), func(g *cluster.Group) { g.Route, g.Affinity.Strict = "green", true }),
		cluster.Group{ID: "shop", Service: "shop", Route: "shop", Hosts: []string{"shop.example.com"}})
	drained(s, "node:b3", now+500)
	return paused(paused(s, "node:b1", time.Second), "context:b2/blog", time.Hour)
}

// towns are configurations that differ in each setting.
func towns() (all []Config) {
	for _, policy := range []selection.Policy{selection.Random, selection.RoundRobin, selection.LeastLoad, selection.Rendezvous} {
		for _, carrier := range []Carrier{QueryCarrier, CookieCarrier, HeaderCarrier} {
			other := len(all)%2 == 0
			all = append(all, config(rules("tg=blue", "n=shop/s1", "host:x.example=shop", "path:/shop=shop"), func(c *Config) {
				c.Selection.Policy, c.Carrier, c.SessionCookie = policy, carrier, "JSESSIONID"
				if other {
					c.PassKey = passKey
				}
				c.CORSCredentials, c.TrustForwardedPath = other, !other
				c.AllowedHosts = []string{"app.example.com"}
				if len(all)%3 == 0 {
					c.CORSOrigins = []string{"https://page.example"}
				}
			}))
		}
	}
	return all
}

func FuzzDecide(f *testing.F) {
	f.Add("GET", "/shop/x", "a=b", "host: app.example.com\nx-forwarded-proto: https\nx-forwarded-for: 192.0.2.7", targetARN+"tg/1", int16(0), uint8(0))
	f.Add("OPTIONS", "/x", "", "origin: https://page.example\naccess-control-request-method: PUT\naccess-control-request-headers: a", "", int16(1), uint8(3))
	f.Add("HEAD", "/_health", "deep", "user-agent: ELB-HealthChecker/2.0", targetARN+"n/1", int16(1001), uint8(4))
	f.Add("POST", "//evil.example", "detour="+state(2, now, "b1")+"~green", "cookie: detour="+state(1, now)+"\nhost: app.example.com", targetARN+"paused/0123456789abcdef", int16(20000), uint8(8))
	f.Add("GET", "/shop;jsessionid=a.r2", "", "cookie: JSESSIONID=a.r3.r1; SID=b!r1!-1; detour-pass="+SignPass(passKey, "b1", now.Add(time.Hour)), targetARN+"tg/1", int16(499), uint8(0))
	f.Add("GET", "/blue", "", "cookie: SID=0000a:r1:-1\nhost: app.example.com\nx-forwarded-proto: https", "", int16(500), uint8(1))
	f.Add("TRACE", "*", "\r\n", "X-Forwarded-Path: //evil.example/?x\nX-Aspectran-Redirect-Count: 2\nX-Aspectran-Visited-Nodes: b1,\xff", "", int16(-1), uint8(11))
	s, configs := town(), towns()
	f.Fuzz(func(t *testing.T, method, path, query, fields, arn string, later int16, choice uint8) {
		req := &Request{Method: method, Path: path, Query: query, TargetGroup: arn}
		for line := range strings.SplitSeq(fields, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			req.Header = append(req.Header, Field{name, value})
		}
		r, at := New(configs[int(choice)%len(configs)], source()), now+cluster.Millis(later)
		checkDecision(t, req, answer(r, req, s, at), s)
		d := r.Decide(req, s, at) // without Early too
		checkDecision(t, req, d, s)
		if _, passed := r.passOf(req, at); !passed {
			checkChoice(t, d, s, at)
		}
		checkDecision(t, req, r.Lost(req, "lost"), s)
		r.Explain(req, s, at)
		r.Stays(req, s, at, "b3")
	})
}

func checkDecision(t *testing.T, req *Request, d Decision, s *cluster.Snapshot) {
	t.Helper()
	require.Contains(t, []int{200, 204, 307, 400, 404, 405, 414, 503}, d.Status)
	require.NotEmpty(t, d.Outcome)
	for i, f := range d.Header {
		require.True(t, httpguts.ValidHeaderFieldName(f.Name), "%q", f.Name)
		require.True(t, httpguts.ValidHeaderFieldValue(f.Value), "%s: %q", f.Name, f.Value)
		for _, other := range d.Header[:i] {
			require.False(t, strings.EqualFold(other.Name, f.Name) && f.Name != "Set-Cookie", "%s twice", f.Name)
		}
	}
	require.Equal(t, "no-store", d.Header.Get("Cache-Control"))
	require.Equal(t, d.Status == 503 && d.Outcome != Health, d.Header.Get("Retry-After") != "")
	require.Equal(t, d.Outcome == Redirected, d.Status == 307)
	require.Equal(t, d.Outcome == Redirected, d.Node != nil)
	if req.Method == "HEAD" {
		require.Empty(t, d.Body)
	}
	location := d.Header.Get("Location")
	if d.Status != 307 {
		require.Empty(t, location)
		return
	}
	require.True(t, absoluteURL.MatchString(location), location)
	bases := []string{"https://app.example.com", "http://app.example.com"} // the allowed host
	for i := range s.Nodes {
		bases = append(bases, s.Nodes[i].Endpoint)
	}
	require.True(t, slices.ContainsFunc(bases, func(b string) bool { return strings.HasPrefix(location, b+"/") }), location)
	if strings.Contains(location, "app.example.com") {
		require.Regexp(t, `[?&]detour=[^&]*~(green|shop)$`, location)
	}
	for i := range req.Header {
		if f := req.Header[i]; strings.EqualFold(f.Name, "X-Forwarded-Proto") && f.Value == "https" {
			require.True(t, strings.HasPrefix(location, "https://"), location)
		}
	}
}

// checkChoice checks that without a pass nobody is led to a node that is not well,
// nor to one that is covered by more than a drain.
func checkChoice(t *testing.T, d Decision, s *cluster.Snapshot, at cluster.Millis) {
	t.Helper()
	if d.Node == nil {
		return
	}
	node, ok := s.Node(d.Node.ID)
	require.True(t, ok)
	require.Equal(t, cluster.Active, node.Report.Status)
	if _, p, covered := s.Cover(node, "", at); covered {
		require.Equal(t, cluster.Drain, p.Mode)
	}
}

func FuzzParseOrigin(f *testing.F) {
	for _, s := range []string{
		"blue-tg=blue", "n7-tg=blue/n7", "host:App.example.com:80=blue", "host:[::1]=b", "path:/a=b=shop", "path:/=shop/n1", "host:.=b", "=", "a=b/", "host:é=b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseOrigin(s)
		if err != nil {
			require.Zero(t, r)
			return
		}
		require.NoError(t, cluster.CheckID(r.Group))
		set, match := 0, ""
		for _, m := range []struct{ kind, value string }{{"", r.TargetGroup}, {"host:", r.Host}, {"path:", r.Path}} {
			if m.value != "" {
				set, match = set+1, m.kind+m.value
			}
		}
		require.Equal(t, 1, set, "%+v", r)
		require.Equal(t, r.Host, hostName(r.Host))
		meant := r.Group
		if r.Node != "" {
			require.NoError(t, cluster.CheckID(r.Node))
			meant += "/" + r.Node
		}
		again, err := ParseOrigin(match + "=" + meant)
		require.NoError(t, err)
		require.Equal(t, r, again)
	})
}
