package redirect

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCarriers(t *testing.T) {
	s := nodes(well("n1", "blue"))
	fresh := state(1, now, "n1")
	for _, row := range []struct {
		carrier  Carrier
		path     string
		location string
		cookie   string
	}{
		{"", "/a?b", "https://n1.example.com/a?b&detour=" + fresh, ""},
		{QueryCarrier, "/a?b", "https://n1.example.com/a?b&detour=" + fresh, ""},
		{HeaderCarrier, "/a?b", "https://n1.example.com/a?b", ""},
		{HeaderCarrier, "/a?b&detour=" + state(2, 0), "https://n1.example.com/a?b", ""},
		{CookieCarrier, "/a?b", "https://n1.example.com/a?b", "detour=" + fresh + "; Path=/a; Max-Age=5; HttpOnly"},
		{CookieCarrier, "/a b", "https://n1.example.com/a%20b", "detour=" + fresh + "; Path=/a%20b; Max-Age=5; HttpOnly"},
		{CookieCarrier, "/a;jsessionid=1", "https://n1.example.com/a;jsessionid=1", "detour=" + fresh + "; Max-Age=5; HttpOnly"},
	} {
		t.Run(string(row.carrier)+" "+row.path, func(t *testing.T) {
			d := answer(redirector(func(c *Config) { c.Carrier = row.carrier }), get(row.path), s, now)
			assert.Equal(t, row.location, d.Header.Get("Location"))
			assert.Equal(t, row.cookie, d.Header.Get("Set-Cookie"))
			assert.Equal(t, "1", d.Header.Get(countKey))
			assert.Equal(t, "n1", d.Header.Get(nodesKey))
		})
	}
}

// A client that keeps what its carrier is comes to an end too.
func TestLoopsEndByEachCarrier(t *testing.T) {
	for _, carrier := range []Carrier{QueryCarrier, CookieCarrier, HeaderCarrier} {
		t.Run(string(carrier), func(t *testing.T) {
			r, s := redirector(func(c *Config) { c.Carrier = carrier }), maze(9)
			req, seen := get("/a?b"), map[string]bool{}
			for hops := range 4 {
				d := answer(r, req, s, now)
				if hops == 3 {
					assert.Equal(t, Looped, d.Outcome)
					return
				}
				require.Equal(t, 307, d.Status)
				assert.False(t, seen[d.Node.ID], "%s twice", d.Node.ID)
				seen[d.Node.ID] = true

				req = get(d.Header.Get("Location")[len(d.Node.Endpoint):])
				cookie, _, _ := strings.Cut(d.Header.Get("Set-Cookie"), ";")
				req.Header = Header{{"cookie", "theme=dark; " + cookie}}
				if carrier == HeaderCarrier {
					req.Header = Header{{countKey, d.Header.Get(countKey)}, {nodesKey, d.Header.Get(nodesKey)}}
				}
			}
		})
	}
}

func TestCarrierText(t *testing.T) {
	for _, text := range []string{"query", "cookie", "header"} {
		var c Carrier
		require.NoError(t, c.UnmarshalText([]byte(text)))
		assert.Equal(t, Carrier(text), c)
	}
	for _, text := range []string{"", "Query", "path"} {
		c := QueryCarrier
		require.Error(t, c.UnmarshalText([]byte(text)))
		assert.Equal(t, QueryCarrier, c)
	}
}
