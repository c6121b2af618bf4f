package redirect

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestTheFieldsOfARedirect(t *testing.T) {
	s := paused(nodes(well("b1", "blue"), well("g1", "green")), "group:blue", 0)
	r := redirector(rules("blue-tg=blue"))
	d := answer(r, through("blue-tg", request("POST", "/a?b")), s, now)
	want := Header{
		{"Location", "https://g1.example.com/a?b&detour=" + state(1, now, "g1")},
		{"Cache-Control", "no-store"},
		{"X-Aspectran-Redirect-Count", "1"},
		{"X-Aspectran-Redirected-From", "blue"},
		{"X-Aspectran-Visited-Nodes", "g1"},
		{"X-Detour-Epoch", "7"},
		{"Connection", "close"},
		{"Content-Type", "text/plain; charset=utf-8"},
	}
	assert.Equal(t, 307, d.Status)
	assert.Equal(t, want, d.Header)
	assert.Equal(t, Redirected, d.Outcome)
	assert.Equal(t, "blue", d.Origin)
	assert.Equal(t, "g1", d.Node.ID)
	assert.Empty(t, d.Reason)
	assert.Contains(t, d.Body, "Location", "golang/go#73439: who does not follow is told")

	d = answer(r, through("blue-tg", request("HEAD", "/a?b", "Origin: https://page.example")), s, now)
	assert.Equal(t, append(want, Field{"Access-Control-Allow-Origin", "*"}), d.Header)
	assert.Empty(t, d.Body)
}

func TestHTTPSNeverLeadsToHTTP(t *testing.T) {
	plain := func(id string) cluster.Node { return well(id, "blue", at("http://"+id+".example.com")) }
	many := nodes()
	for _, id := range strings.Split("abcdefghijklmnopqrstuvwxy", "") {
		many.Nodes = append(many.Nodes, plain(id))
	}
	only := nodes(many.Nodes...)
	many.Nodes = append(many.Nodes, well("z", "blue"))
	behind := nodes(plain("a"), well("z", "blue", func(n *cluster.Node) { n.Role = cluster.Standby }))
	elsewhere := nodes(plain("a"), well("z", "blue", contexts("/shop")))
	for _, row := range []struct {
		name   string
		s      *cluster.Snapshot
		protos []string
		want   string
	}{
		{"the only https node among many", many, []string{"https"}, "https://z.example.com/"},
		{"whatever the case", many, []string{"HTTPS"}, "https://z.example.com/"},
		{"a list of proxies (packetfence/packetfence#7409)", many, []string{"https, http"}, "https://z.example.com/"},
		{"several fields, the first https", many, []string{"https", "http"}, "https://z.example.com/"},
		{"several fields, the last https", many, []string{"http", "https"}, "https://z.example.com/"},
		{"nobody by https", only, []string{"https"}, "503"},
		{"a standby by https", behind, []string{"https"}, "https://z.example.com/"},
		{"a context that only an http node has", elsewhere, []string{"https"}, "503"},
		{"from http to http", only, []string{"http"}, "http://"},
		{"from anywhere to http", only, nil, "http://"},
	} {
		t.Run(row.name, func(t *testing.T) {
			req := get("/")
			for _, p := range row.protos {
				req.Header = append(req.Header, Field{"x-forwarded-proto", p})
			}
			for range 10 {
				d := answer(redirector(), req, row.s, now)
				assert.True(t, strings.HasPrefix(led(d), row.want), led(d))
				if d.Node != nil {
					node, ok := row.s.Node(d.Node.ID)
					require.True(t, ok)
					assert.Equal(t, node.Endpoint, d.Node.Endpoint)
				}
			}
		})
	}
}

func TestTheSameHost(t *testing.T) {
	s := paused(grouped(nodes(well("b1", "blue"), well("g1", "green")),
		cluster.Group{ID: "blue", Route: "blue"}, cluster.Group{ID: "green", Route: "green"}), "group:blue", 0)
	badRoute := paused(grouped(nodes(well("b1", "blue"), well("g1", "green")),
		cluster.Group{ID: "green", Route: "Green&x=y"}), "group:blue", 0)
	half := grouped(nodes(well("b1", "blue"), well("b2", "blue")), cluster.Group{ID: "blue", Route: "blue"})
	const direct, same = "https://g1.example.com/a?b&detour=", "https://app.example.com/a?b&detour="
	for _, row := range []struct {
		name    string
		allowed string
		s       *cluster.Snapshot
		req     *Request
		want    string // Location up to the hop state
		route   string
	}{
		{"an allowed host", "app.example.com", s, get("/a?b", "host: app.example.com"), same, "~green"},
		{"whatever its case, it is written as configured", "app.example.com", s, get("/a?b", "host: APP.example.com"), same, "~green"},
		{"with a port", "app.example.com:8443", s, get("/a?b", "host: app.example.com:8443"), "https://app.example.com:8443/a?b&detour=", "~green"},
		{"by http", "app.example.com", s, get("/a?b", "host: app.example.com", "x-forwarded-proto: http"), "http://app.example.com/a?b&detour=", "~green"},
		{"by https", "app.example.com", s, get("/a?b", "host: app.example.com", "x-forwarded-proto: https"), same, "~green"},
		{"by what nobody knows", "app.example.com", s, get("/a?b", "host: app.example.com", "x-forwarded-proto: wss"), same, "~green"},
		{"by http and https", "app.example.com", s, get("/a?b", "host: app.example.com", "x-forwarded-proto: https", "x-forwarded-proto: http"), same, "~green"},
		{"another port", "app.example.com", s, get("/a?b", "host: app.example.com:8443"), direct, ""},
		{"a host that is not allowed", "app.example.com", s, get("/a?b", "host: evil.example"), direct, ""},
		{"a host that ends alike", "app.example.com", s, get("/a?b", "host: an.app.example.com"), direct, ""},
		{"no host", "app.example.com", s, get("/a?b"), direct, ""},
		{"no host allowed", "", s, get("/a?b", "host: app.example.com"), direct, ""},
		{"a route out of form", "app.example.com", badRoute, get("/a?b", "host: app.example.com"), direct, ""},
		{"a route that led back here", "app.example.com", s, get("/a?b&detour="+state(1, now)+"~green", "host: app.example.com"), direct, ""},
		{"another route before", "app.example.com", s, get("/a?b&detour="+state(1, now)+"~blue", "host: app.example.com"), same, "~green"},
		{"the origin's own group", "app.example.com", half, get("/a?b", "host: app.example.com"), "https://b", ""},
	} {
		for _, carrier := range []Carrier{QueryCarrier, CookieCarrier, HeaderCarrier} {
			t.Run(row.name+" "+string(carrier), func(t *testing.T) {
				r := redirector(rules("tg=blue"), func(c *Config) {
					c.Carrier = carrier
					if row.allowed != "" {
						c.AllowedHosts = []string{"other.example.com", row.allowed}
					}
				})
				location := answer(r, through("tg", row.req), row.s, now).Header.Get("Location")
				want := row.want
				if row.route == "" && carrier != QueryCarrier {
					want = strings.TrimSuffix(want, "&detour=")
				}
				assert.True(t, strings.HasPrefix(location, want), location)
				_, after, _ := strings.Cut(location, "~")
				assert.Equal(t, strings.TrimPrefix(row.route, "~"), after)
			})
		}
	}
}

func TestNoContextAndNobody(t *testing.T) {
	shop := well("n1", "blue", contexts("/shop"))
	for _, row := range []struct {
		name   string
		s      *cluster.Snapshot
		path   string
		status int
	}{
		{"a context that is served", nodes(shop), "/shop/x", 307},
		{"a path that no node knows", nodes(shop), "/shopping", 404},
		{"a path that a group knows", grouped(nodes(shop), cluster.Group{ID: "blue", Paths: []string{"/blog"}}), "/blog", 503},
		{"a path that only a paused node knows (middlewaremagic.com/weblogic/?p=4567)", nodes(shop, well("n2", "blue", contexts("/blog"), status(cluster.Paused))), "/blog", 503},
		{"a path that no node knows, and nobody is offered", nodes(well("n1", "blue", contexts("/shop"), status(cluster.Paused))), "/x", 503},
		{"a path of a group that is paused", covered(nodes(shop), "group:blue", cluster.Pause{Mode: cluster.Redirect}), "/shop/x", 503},
		{"a node that is starting, and serves no context yet (WFLY-16383)", nodes(well("n1", "blue", status(cluster.Starting))), "/shop", 503},
		{"nobody at all (wildfly/wildfly#15563)", nodes(), "/shop", 503},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := answer(redirector(), get(row.path), row.s, now)
			assert.Equal(t, row.status, d.Status)
			assert.Equal(t, row.status == 404, d.Outcome == NoContext)
			assert.Equal(t, row.status == 503, d.Header.Get("Retry-After") != "")
		})
	}
}

// A snapshot that could not be renewed is judged as at its time, though pauses end.
func TestAFrozenSnapshot(t *testing.T) {
	silent := func(n *cluster.Node) { n.Pulse = now.Add(-timeout) - 1 }
	s := nodes(well("n1", "blue", silent), well("n2", "blue"), well("n3", "green"))
	paused(s, "group:green", timeout)
	later := now.Add(10 * timeout)
	assert.Equal(t, "https://n2.example.com/", led(answer(redirector(rules("tg=blue")), through("tg", get("/")), s, now)))

	frozen := *s
	frozen.Frozen = true
	seen, r := map[string]bool{}, redirector()
	for range 50 {
		seen[led(answer(r, get("/"), &frozen, later))] = true
	}
	assert.Equal(t, map[string]bool{"https://n2.example.com/": true, "https://n3.example.com/": true}, seen)
	assert.Equal(t, 200, answer(redirector(), get("/_health?deep"), &frozen, later).Status)
}
