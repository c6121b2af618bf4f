package redirect

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

func TestParseHop(t *testing.T) {
	for _, row := range []struct {
		text  string
		count int
		at    cluster.Millis
		marks []selection.Mark
		route string
	}{
		{"1.0", 1, 0, nil, ""},
		{"1.z", 1, 35_000, nil, ""},
		{"99.sa7k8w", 99, 1_710_201_920_000, nil, ""},
		{"2.10.a.zz", 2, 36_000, []selection.Mark{10, 1295}, ""},
		{"2.10.a.a", 2, 36_000, []selection.Mark{10}, ""},
		{"1.10.1z141z3", 1, 36_000, []selection.Mark{1<<32 - 1}, ""},
		{"1.10~green-2", 1, 36_000, nil, "green-2"},
		{"1.10.a~g", 1, 36_000, []selection.Mark{10}, "g"},
		{"1.e15n6u8w", 1, maxSeconds * 1000, nil, ""},
		{"1.10" + strings.Repeat(".a", 16), 1, 36_000, []selection.Mark{10}, ""},
	} {
		t.Run(row.text, func(t *testing.T) {
			if row.text == "1.e15n6u8w" {
				row.text = "1." + strconv.FormatInt(maxSeconds, 36)
			}
			h, ok := parseHop(row.text)
			require.True(t, ok)
			assert.Equal(t, row.count, h.count)
			assert.Equal(t, row.at, h.at)
			assert.Equal(t, row.marks, append([]selection.Mark(nil), h.visited...))
			assert.Equal(t, row.route, h.route)
		})
	}
	distinct := ".1.2.3.4.5.6.7.8.9.a.b.c.d.e.f.g.h"
	for _, text := range []string{
		"", ".", "1", "1.", "0.10", "01.10", "100.10", "-1.10", "+1.10", "a.10", "1.-1", "1.+1", "1.010", "1.A", "1.10.", "1.10..a",
		"1.10.A", "1.10.0a", "1.10.1z141z4", "1.100000000", "1.10~", "1.10~G", "1.10~g~h", "1.10~g.h", "~g", "1.1 0", "1.10%2ea",
		"xyz", "true", "1.2.3.x_y", "1." + strconv.FormatInt(maxSeconds+1, 36), "1.10" + distinct,
	} {
		t.Run("no state: "+text, func(t *testing.T) {
			_, ok := parseHop(text)
			assert.False(t, ok)
		})
	}
}

// How many redirects a request has behind it, by all that can tell.
func TestHopsOfARequest(t *testing.T) {
	s := nodes(well("n1", "blue"), well("n2", "blue"))
	minuteAgo, inAMinute := now.Add(-time.Minute), now.Add(time.Minute)
	for _, row := range []struct {
		name string
		req  *Request
		hops int
	}{
		{"nothing", get("/?a=b"), 0},
		{"the parameter", get("/?detour=" + state(2, now)), 2},
		{"the parameter among others", get("/?a=1&detour=" + state(2, now) + "&b=2"), 2},
		{"two parameters, the larger first", get("/?detour=" + state(2, now) + "&detour=" + state(1, now)), 2},
		{"two parameters, the larger last", get("/?detour=" + state(1, now) + "&detour=" + state(2, now)), 2},
		{"the header", get("/", "X-Aspectran-Redirect-Count: 2"), 2},
		{"the header in lower case", get("/", "x-aspectran-redirect-count: 2"), 2},
		{"the larger header", get("/?detour="+state(1, now), "X-Aspectran-Redirect-Count: 2"), 2},
		{"the larger parameter", get("/?detour="+state(2, now), "X-Aspectran-Redirect-Count: 1"), 2},
		{"the cookie", get("/", "cookie: a=b; detour="+state(2, now)+"; c=d"), 2},
		{"a cookie with a longer name", get("/", "cookie: mydetour="+state(2, now)), 0},
		{"a parameter with a longer name", get("/?mydetour=" + state(2, now)), 0},
		{"a parameter exactly a minute old", get("/?detour=" + state(2, minuteAgo)), 2},
		{"a parameter over a minute old", get("/?detour=" + state(2, minuteAgo-1000)), 0},
		{"a parameter a minute ahead", get("/?detour=" + state(2, inAMinute)), 2},
		{"a parameter over a minute ahead", get("/?detour=" + state(2, inAMinute+1000)), 0},
		{"an old cookie", get("/", "cookie: detour="+state(2, minuteAgo-1000)), 0},
		{"a parameter of the application's own", get("/?detour=xyz"), 0},
		{"a parameter out of form", get("/?detour=100." + strings.TrimPrefix(state(2, now), "2.")), 0},
		{"an encoded name", get("/?%64etour=" + state(2, now)), 0},
		{"a header that is no number", get("/", "X-Aspectran-Redirect-Count: two"), 0},
		{"a header below zero", get("/", "X-Aspectran-Redirect-Count: -1"), 0},
		{"a header beyond all limits", get("/", "X-Aspectran-Redirect-Count: 2147483647"), maxHops},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.hops, redirector().Explain(row.req, s, now).Hops)

			for _, limit := range []int{row.hops, row.hops + 1} {
				if limit > maxHops {
					continue
				}
				d := answer(redirector(func(c *Config) { c.MaxRedirects = limit }), row.req, s, now)
				if limit == row.hops {
					assert.Equal(t, 503, d.Status, "at the limit")
					assert.Equal(t, Looped, d.Outcome)
					assert.Equal(t, "5", d.Header.Get("Retry-After"))
					continue
				}
				require.Equal(t, 307, d.Status, "below the limit")
				assert.Equal(t, strconv.Itoa(row.hops+1), d.Header.Get(countKey))
				next := get(d.Header.Get("Location")[len("https://n1.example.com"):])
				assert.Equal(t, row.hops+1, redirector().Explain(next, s, now).Hops)
			}
		})
	}
}

func TestVisitedNodesAreNotOfferedAgain(t *testing.T) {
	s := nodes(well("n1", "blue"), well("n2", "blue"), well("n3", "blue"))
	for _, row := range []struct {
		name string
		req  *Request
		want string
	}{
		{"by the parameter", get("/?detour=" + state(1, now, "n1", "n3")), "https://n2.example.com/"},
		{"by the header", get("/", "X-Aspectran-Visited-Nodes: n1, n3"), "https://n2.example.com/"},
		{"by the cookie", get("/", "Cookie: detour="+state(1, now, "n1", "n3")), "https://n2.example.com/"},
		{"by parameter, header and cookie together", get("/?detour="+state(1, now, "n1"),
			"X-Aspectran-Visited-Nodes: n1", "Cookie: detour="+state(1, now, "n3")), "https://n2.example.com/"},
		{"all of them", get("/?detour=" + state(1, now, "n1", "n2", "n3")), "503"},
	} {
		t.Run(row.name, func(t *testing.T) {
			for range 20 {
				d := answer(redirector(), row.req, s, now)
				require.Equal(t, row.want, led(d))
				if d.Status == 307 {
					_, value, _ := strings.Cut(d.Header.Get("Location"), "detour=")
					h, ok := parseHop(value)
					require.True(t, ok)
					assert.Subset(t, h.visited, []selection.Mark{selection.MarkOf("n1"), selection.MarkOf("n2"), selection.MarkOf("n3")}[:len(h.visited)])
					assert.Contains(t, h.visited, selection.MarkOf("n2"), "the chosen one is included")
				}
			}
		})
	}
	old := get("/?detour=" + state(1, now.Add(-2*time.Minute), "n1", "n2", "n3"))
	assert.Equal(t, 307, answer(redirector(), old, s, now).Status, "old state counts as absent")
}

func TestTheListOfVisitedNodes(t *testing.T) {
	s := nodes(well("n3", "blue"))
	for _, row := range []struct{ name, before, want string }{
		{"none", "", "n3"},
		{"some", "n1,n2", "n1,n2,n3"},
		{"what is no id is left out", "n1, n 2,,n\"4", "n1,n3"},
		{"the longest list", strings.Repeat("n1,", 341) + ",", strings.Repeat("n1,", 341) + "n3"},
		{"too long a list begins anew", strings.Repeat("n1,", 341) + ",,", "n3"},
	} {
		t.Run(row.name, func(t *testing.T) {
			req := get("/")
			req.Header = Header{{nodesKey, row.before}}
			assert.Equal(t, row.want, answer(redirector(), req, s, now).Header.Get(nodesKey))
		})
	}
}
