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

func FuzzHop(f *testing.F) {
	f.Add("1.sa7k8w.abc.def~green", uint8(1), int64(now), "n1,n2", "green")
	f.Add("99.0", uint8(99), int64(0), "", "")
	f.Add("1.10.1.2.3.4.5.6.7.8.9.a.b.c.d.e.f.g", uint8(16), int64(-1), strings.Repeat("n,", 20), "")
	f.Add("xyz&detour=3.10&&detour=", uint8(0), int64(1<<62), "@", "-")
	f.Fuzz(func(t *testing.T, text string, count uint8, at int64, ids, route string) {
		if h, ok := parseHop(text); ok {
			again, ok := parseHop(string(appendHop(nil, &h, h.at, h.route)))
			require.True(t, ok)
			require.Equal(t, h, again, "what was read is written and read alike")
			require.True(t, 1 <= h.count && h.count <= maxHops)
		}

		h := hop{count: 1 + int(count)%maxHops}
		for id := range strings.SplitSeq(ids, ",") {
			h.mark(selection.MarkOf(id))
		}
		if !isRoute(route) {
			route = ""
		}
		value := string(appendHop(nil, &h, cluster.Millis(at), route))
		require.Regexp(t, `^[a-z0-9.~-]+$`, value)
		back, ok := parseHop(value)
		require.True(t, ok, value)
		require.True(t, isHop("detour="+value))
		require.Equal(t, h.count, back.count)
		require.Equal(t, h.visited, back.visited)
		require.Equal(t, route, back.route)
		if 0 <= at && at/1000 <= maxSeconds {
			require.Equal(t, at/1000*1000, int64(back.at))
		}
	})
}

// Whatever a query brings along, a client that follows each Location comes to an
// end, and the count rises by one at each hop.
func FuzzLoop(f *testing.F) {
	f.Add("/", "")
	f.Add("/a", "detour=xyz&detour=1.sa7k8w")
	f.Add("//b", "&&detour="+state(2, now)+"~green&c=%")
	f.Add("/a", "detour="+state(19, now.Add(time.Minute)))
	const limit = 20
	s := maze(2 * limit)
	f.Fuzz(func(t *testing.T, path, query string) {
		r := redirector(func(c *Config) { c.MaxRedirects = limit })
		q := question{req: &Request{Query: query}, now: now}
		q.hear()
		before := q.hop.count
		locations, last := walk(t, r, s, &Request{Method: "GET", Path: path, Query: query}, 500*time.Millisecond)
		require.Contains(t, []int{503, 400, 414, 200}, last.Status)
		if last.Outcome == Looped {
			require.Len(t, locations, max(limit-before, 0))
		}
		for i, l := range locations {
			_, query, _ := strings.Cut(l, "?")
			own := query[strings.LastIndexByte(query, '&')+1:]
			require.True(t, strings.HasPrefix(own, "detour="+strconv.Itoa(before+i+1)+"."), l)
			rest, _ := withoutHops(query)
			assert.Equal(t, strings.TrimSuffix(strings.TrimSuffix(query, own), "&"), rest, "the parameter is there once")
		}
	})
}
