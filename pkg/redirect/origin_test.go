package redirect

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func rules(s ...string) func(*Config) {
	return func(c *Config) {
		for _, text := range s {
			r, err := ParseOrigin(text)
			if err != nil {
				panic(err)
			}
			c.Origins = append(c.Origins, r)
		}
	}
}

func detoured(id, service, name string, change ...func(*cluster.Group)) cluster.Group {
	g := cluster.Group{ID: id, Service: service, DetourTargetGroup: targetARN + name + "/0123456789abcdef"}
	for _, f := range change {
		f(&g)
	}
	return g
}

func hosts(h ...string) func(*cluster.Group) { return func(g *cluster.Group) { g.Hosts = h } }
func paths(p ...string) func(*cluster.Group) { return func(g *cluster.Group) { g.Paths = p } }

func TestWhatARequestWasMeantFor(t *testing.T) {
	fleet := func(groups ...cluster.Group) *cluster.Snapshot {
		return grouped(nodes(well("b1", "blue"), well("b2", "blue"), well("g1", "green"), well("s1", "shop")), groups...)
	}
	shop := cluster.Group{ID: "shop", Service: "shop"}
	shared := fleet(detoured("blue", "", "paused", hosts("Blue.Example.com.")), detoured("green", "", "paused", paths("/green")), shop)
	twoServices := fleet(detoured("blue", "", "paused"), detoured("shop", "shop", "paused"))
	byHost := fleet(cluster.Group{ID: "blue", Hosts: []string{"app.example.com"}}, shop)
	for _, row := range []struct {
		name   string
		rules  []string
		s      *cluster.Snapshot
		req    *Request
		want   string // label
		status int
	}{
		{"a configured target group", []string{"blue-tg=blue"}, fleet(shop), through("blue-tg", get("/")), "blue", 307},
		{"a target group that ends alike", []string{"tg=blue"}, fleet(shop), through("blue-tg", get("/")), "-", 503},
		{"a target group that begins alike", []string{"blue-t=blue"}, fleet(shop), through("blue-tg", get("/")), "-", 503},
		{"a configured node", []string{"b1-tg=blue/b1"}, fleet(shop), through("b1-tg", get("/")), "b1", 307},
		{"a configured host, whatever its case and port", []string{"host:App.example.com=shop"}, fleet(shop), get("/", "host: APP.example.com:8443"), "shop", 307},
		{"the first of two hosts, as listener rules look at it", []string{"host:a.example.com=shop", "host:b.example.com=blue"}, fleet(shop), get("/", "host: a.example.com", "host: b.example.com"), "shop", 307},
		{"the same said twice", []string{"path:/shop=shop", "path:/shop=shop"}, fleet(shop), get("/shop"), "shop", 307},
		{"another host", []string{"host:app.example.com=shop"}, fleet(shop), get("/", "host: an.app.example.com"), "-", 503},
		{"a configured path", []string{"path:/shop=shop"}, fleet(shop), get("/shop/x"), "shop", 307},
		{"a path that only begins alike", []string{"path:/shop=shop"}, fleet(shop), get("/shopping"), "-", 503},
		{"the longest path", []string{"path:/=blue", "path:/shop=shop"}, fleet(shop), get("/shop"), "shop", 307},
		{"the longest path of a group", nil, fleet(cluster.Group{ID: "blue", Paths: []string{"/shop/cart", "/"}}, cluster.Group{ID: "green", Paths: []string{"/shop"}}), get("/shop/cart/1"), "blue", 307},
		{"a target group before host and path", []string{"tg=green", "host:a.example.com=blue", "path:/x/y/z=blue"}, fleet(), through("tg", get("/x/y/z", "host: a.example.com")), "green", 307},
		{"a host before a path", []string{"path:/x/y/z=blue", "host:a.example.com=green"}, fleet(), get("/x/y/z", "host: a.example.com"), "green", 307},
		{"a configured name before a group's target group", []string{"paused=green"}, fleet(detoured("blue", "", "paused")), through("paused", get("/")), "green", 307},
		{"a group's target group before a configured host", []string{"host:a.example.com=green"}, fleet(detoured("blue", "", "paused")), through("paused", get("/", "host: a.example.com")), "blue", 307},
		{"a group's target group", nil, fleet(detoured("shop", "shop", "paused"), detoured("blue", "", "other")), through("paused", get("/")), "shop", 307},
		{"a shared target group, told apart by host", nil, shared, through("paused", get("/", "host: blue.example.com")), "blue", 307},
		{"a shared target group, told apart by path", nil, shared, through("paused", get("/green/x")), "green", 307},
		{"a shared target group, not told apart", nil, shared, through("paused", get("/x")), "-", 307},
		{"a shared target group of several services", nil, twoServices, through("paused", get("/")), "-", 503},
		{"a group's host", nil, byHost, get("/", "host: app.example.com"), "blue", 307},
		{"a configured host before a group's own", []string{"host:app.example.com=shop"}, byHost, get("/", "host: app.example.com"), "shop", 307},
		{"nothing matches, and there is one service", nil, fleet(), get("/"), "-", 307},
		{"nothing matches, and there are several", nil, fleet(shop), get("/"), "-", 503},
		{"nothing matches, and nobody is there", nil, nodes(), get("/"), "-", 503},
		{"a group that nobody knows", []string{"tg=grean"}, fleet(), through("tg", get("/")), "grean", 307},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := answer(redirector(rules(row.rules...)), row.req, row.s, now)
			assert.Equal(t, row.want, d.Origin)
			assert.Equal(t, row.status, d.Status)
		})
	}
}

func TestOfSeveralThePausedOneIsMeant(t *testing.T) {
	for range 20 { // the order of a map must not decide
		s := grouped(nodes(well("b1", "blue"), well("g1", "green"), well("r1", "red")),
			detoured("blue", "", "paused"), detoured("green", "", "paused"), detoured("red", "", "paused"))
		r := redirector()
		assert.Equal(t, "green", answer(r, through("paused", get("/")), paused(s, "group:green", timeout), now).Origin)
		assert.Equal(t, "-", answer(r, through("paused", get("/")), s, now.Add(timeout)).Origin, "the pause has ended")
		both := paused(paused(s, "group:green", 0), "group:red", 0)
		d := answer(redirector(), through("paused", get("/")), both, now)
		assert.Equal(t, "https://b1.example.com/", led(d))
		assert.Equal(t, "-", d.Origin)
	}
	s := grouped(nodes(well("b1", "blue"), well("b2", "blue")))
	r := redirector(rules("host:a.example.com=blue/b1", "host:a.example.com=blue/b2"))
	assert.Equal(t, "b2", answer(r, get("/", "host: a.example.com"), paused(s, "node:b2", 0), now).Origin)
}

func TestSeveralServicesAreSaid(t *testing.T) {
	s := grouped(nodes(well("b1", "blue"), well("s1", "shop")), cluster.Group{ID: "shop", Service: "shop"})
	d := answer(redirector(), get("/"), s, now)
	assert.Equal(t, 503, d.Status)
	assert.Equal(t, Unavailable, d.Outcome)
	assert.Contains(t, d.Body, "DETOUR_ORIGINS")
	assert.Equal(t, "5", d.Header.Get("Retry-After"))
}

func TestTheOriginNodeIsNotOffered(t *testing.T) {
	r := redirector(rules("b1-tg=blue/b1"))
	s := nodes(well("b1", "blue"), well("b2", "blue"))
	for range 30 {
		assert.Equal(t, "https://b2.example.com/", led(answer(r, through("b1-tg", get("/")), s, now)))
	}
	assert.Equal(t, "503", led(answer(r, through("b1-tg", get("/")), nodes(well("b1", "blue")), now)))
}

func TestParseOrigin(t *testing.T) {
	for _, row := range []struct {
		text string
		want OriginRule
	}{
		{"blue-tg=blue", OriginRule{TargetGroup: "blue-tg", Group: "blue"}},
		{"n7-tg=blue/n7", OriginRule{TargetGroup: "n7-tg", Group: "blue", Node: "n7"}},
		{"host:App.Example.com.=blue", OriginRule{Host: "app.example.com", Group: "blue"}},
		{"host:app.example.com:8443=blue", OriginRule{Host: "app.example.com", Group: "blue"}},
		{"host:[2001:db8::1]:8443=blue", OriginRule{Host: "[2001:db8::1]", Group: "blue"}},
		{"path:/shop=shop", OriginRule{Path: "/shop", Group: "shop"}},
		{"path:/=shop/n1", OriginRule{Path: "/", Group: "shop", Node: "n1"}},
		{"path:/a=b=shop", OriginRule{Path: "/a=b", Group: "shop"}},
	} {
		t.Run(row.text, func(t *testing.T) {
			got, err := ParseOrigin(row.text)
			require.NoError(t, err)
			assert.Equal(t, row.want, got)
			var read OriginRule
			require.NoError(t, read.UnmarshalText([]byte(row.text)))
			assert.Equal(t, row.want, read)
		})
	}
	for _, text := range []string{
		"", "=", "blue", "=blue", "tg=", "tg=/n1", "tg=blue/", "tg=blue/n1/n2", "tg=bl ue", "t g=blue",
		"host:=blue", "host:.=blue", "host::80=blue", "host:a b=blue", "host:a/b=blue", "host:a@b=blue", "host:*.example.com=blue",
		"path:=blue", "path:shop=blue", "path:/shop/=blue", "path:/a?b=blue", "port:80=blue", targetARN + "x/1=blue",
	} {
		t.Run("refused: "+text, func(t *testing.T) {
			got, err := ParseOrigin(text)
			require.Error(t, err)
			assert.Zero(t, got)
			assert.ErrorContains(t, err, "origin ")
		})
	}
}
