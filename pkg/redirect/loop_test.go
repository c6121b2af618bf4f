package redirect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// maze returns n nodes each of which leads back to the redirector.
func maze(n int) *cluster.Snapshot {
	s := nodes()
	for i := range n {
		s.Nodes = append(s.Nodes, well(fmt.Sprintf("n%03d", i), "blue"))
	}
	return s
}

// walk follows redirects of a request for path and query, each of which leads to
// r again, and returns the Locations and the last answer. A client sends the
// fields of the first request each time, and none that it was answered.
func walk(t *testing.T, r *Redirector, s *cluster.Snapshot, req *Request, pace time.Duration) (locations []string, last Decision) {
	t.Helper()
	base := len("https://n000.example.com")
	for at := now; len(locations) <= 2*maxHops; at = at.Add(pace) {
		last = answer(r, req, s, at)
		if last.Status != 307 {
			return locations, last
		}
		location := last.Header.Get("Location")
		locations = append(locations, location)
		next := get(location[base:])
		next.Method, next.Header, next.TargetGroup = req.Method, req.Header, req.TargetGroup
		req = next
	}
	return locations, last
}

// Whatever the limit, a client without any state of its own comes to an end.
func TestLoopsEnd(t *testing.T) {
	s := maze(120)
	for _, limit := range []int{-1, 0, 1, 3, 9, 10, 16, 17, 20, 98, 99, 100, 1000} {
		t.Run(fmt.Sprint("limit ", limit), func(t *testing.T) {
			r := redirector(func(c *Config) { c.MaxRedirects = limit; c.Selection.PulseTimeout = time.Hour })
			locations, last := walk(t, r, s, get("/a?b"), time.Second)
			assert.Len(t, locations, min(max(limit, 0), maxHops))
			assert.Equal(t, 503, last.Status)
			assert.Equal(t, Looped, last.Outcome)
		})
	}
}

// Few nodes end a loop before the limit: nobody is visited twice.
func TestNobodyIsVisitedTwice(t *testing.T) {
	r := redirector(func(c *Config) { c.MaxRedirects = 20 })
	locations, last := walk(t, r, maze(5), get("/"), time.Second)
	assert.Equal(t, Unavailable, last.Outcome)
	require.Len(t, locations, 5)
	seen := map[string]bool{}
	for _, l := range locations {
		base, _, _ := strings.Cut(l, "?")
		assert.False(t, seen[base], "%s twice", base)
		seen[base] = true
	}
}

// The parameter appears once and last, whatever the query and however often it
// was redirected; the rest of the query stays as it was.
func TestTheParameterIsOneAndLast(t *testing.T) {
	for _, query := range []string{
		"", "a=1", "a=1&b=2", "&", "&&a&", "=", "a=?b", "detour=xyz", "detour=xyz&detour=zyx&a", "detour=", "detour", "mydetour=1.10",
		"a=1&detour=" + state(1, 0) + "&b=2", "detour=" + state(1, now) + "&detour=" + state(1, 0), "a=detour=" + state(1, now),
		"x%zz&%", "redirect=https://b.example.com/?detour=" + state(1, now),
	} {
		t.Run(query, func(t *testing.T) {
			var kept []string
			for _, pair := range strings.Split(query, "&") {
				if !isHop(pair) {
					kept = append(kept, string(appendEncoded(nil, pair, true)))
				}
			}
			want := strings.Join(kept, "&")
			r := redirector(func(c *Config) { c.MaxRedirects = 20 })
			locations, _ := walk(t, r, maze(30), &Request{Method: "GET", Path: "/p", Query: query}, time.Second)
			require.GreaterOrEqual(t, len(locations), 18)
			for _, l := range locations {
				_, got, _ := strings.Cut(l, "?")
				i := max(strings.LastIndexByte(got, '&'), 0)
				assert.True(t, isHop(strings.TrimPrefix(got[i:], "&")), "%s does not end in the parameter", l)
				rest := got[:i]
				if query == "" || want == "" && !strings.Contains(query, "&") {
					assert.Empty(t, rest)
					continue
				}
				assert.Equal(t, want, rest)
				for _, pair := range strings.Split(rest, "&") {
					assert.False(t, isHop(pair), "%s holds the parameter twice", l)
				}
			}
		})
	}
}
