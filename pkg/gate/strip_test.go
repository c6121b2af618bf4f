package gate

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/redirect"
)

// FuzzStrip compares what the gate leaves of a query with what the redirector
// leaves of it in a Location, where no byte needs to be encoded.
func FuzzStrip(f *testing.F) {
	for _, query := range []string{
		"detour=1.k3", "a=b&detour=1.k3.zz~green&c", "detour=on", "&&", "detour=1.k3.a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q",
		"detour=99.zzzzzz.hra0hr", "detour=1.", "detour=1.k3~", "detour=1.k3&detour=2.k3", "xdetour=1.k3", "detour=01.k3",
	} {
		f.Add(query)
	}
	s := &cluster.Snapshot{Epoch: 1, Time: 1, Nodes: []cluster.Node{{
		Descriptor: cluster.Descriptor{ID: "n2", Group: "blue", Endpoint: "https://n2.example.com", Weight: 1},
		Report:     cluster.Report{Status: cluster.Active}, Pulse: 1,
	}}}
	redirector := redirect.New(redirect.Config{MaxRedirects: 99}, rand.NewPCG(1, 2))
	f.Fuzz(func(t *testing.T, query string) {
		if strings.ContainsFunc(query, func(r rune) bool { return !strings.ContainsRune("abcdeotuz019.~-=&", r) }) {
			t.Skip()
		}
		stripped := redirect.StripHop(query)
		assert.Equal(t, stripped, redirect.StripHop(stripped))
		r := send("GET", "/?"+query, nil)
		d := redirector.Decide(request(r), s, 1)
		if d.Outcome != redirect.Redirected {
			t.Skip()
		}
		_, led, _ := strings.Cut(d.Header.Get("Location"), "?")
		assert.Equal(t, led[:max(0, strings.LastIndex(led, "&"))], stripped)
		if seen := withoutHop(r); seen != r {
			require.NotEqual(t, query, stripped)
			assert.Equal(t, query, r.URL.RawQuery, "the request itself stays as it was")
			assert.Equal(t, stripped, seen.URL.RawQuery)
		}
	})
}
