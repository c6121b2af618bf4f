package redirect

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

var passKey = []byte("0123456789abcdef")

func passes(c *Config) { c.PassKey = passKey }

func passTo(id string, d time.Duration) string {
	return "Cookie: theme=dark; detour-pass=" + SignPass(passKey, id, now.Add(d))
}

func TestAPassIsVerified(t *testing.T) {
	value := SignPass(passKey, "n1.example", now.Add(time.Minute))
	for _, c := range []struct {
		name   string
		key    string
		header string
		at     cluster.Millis
		want   string
	}{
		{"alone", string(passKey), "detour-pass=" + value, now, "n1.example"},
		{"among others", string(passKey), "a=b; detour-pass=" + value + "; c=d", now, "n1.example"},
		{"after one that is not valid", string(passKey), "detour-pass=x; detour-pass=" + value, now, "n1.example"},
		{"a millisecond before its end", string(passKey), "detour-pass=" + value, now.Add(time.Minute) - 1, "n1.example"},
		{"at its end", string(passKey), "detour-pass=" + value, now.Add(time.Minute), ""},
		{"by another key", "0123456789abcdeg", "detour-pass=" + value, now, ""},
		{"by a key that is too short", "0123456789abcde", "detour-pass=" + SignPass([]byte("0123456789abcde"), "n1", now.Add(time.Minute)), now, ""},
		{"by no key", "", "detour-pass=" + SignPass(nil, "n1", now.Add(time.Minute)), now, ""},
		{"for another node", string(passKey), "detour-pass=" + strings.Replace(value, "n1", "n2", 1), now, ""},
		{"for longer", string(passKey), "detour-pass=" + strings.Replace(value, ".example.", ".example.z", 1), now, ""},
		{"with the dot moved", string(passKey), "detour-pass=" + strings.Replace(value, "n1.", "n1", 1), now, ""},
		{"with half a MAC", string(passKey), "detour-pass=" + value[:len(value)-11], now, ""},
		{"without a MAC", string(passKey), "detour-pass=" + value[:strings.LastIndexByte(value, '.')+1], now, ""},
		{"with more behind it", string(passKey), "detour-pass=" + value + "A", now, ""},
		{"under another name", string(passKey), "xdetour-pass=" + value, now, ""},
		{"empty", string(passKey), "detour-pass=", now, ""},
		{"no cookie", string(passKey), "", now, ""},
	} {
		id, ok := VerifyPass([]byte(c.key), c.header, c.at)
		assert.Equal(t, c.want, id, c.name)
		assert.Equal(t, c.want != "", ok, c.name)
	}
}

func TestAPassLeadsToItsNode(t *testing.T) {
	fleet := func() *cluster.Snapshot {
		return grouped(nodes(well("b1", "blue", contexts("/shop")), well("g1", "green"), well("s1", "shop")),
			cluster.Group{ID: "blue", Route: "blue"}, cluster.Group{ID: "green"}, cluster.Group{ID: "shop", Service: "shop"})
	}
	stale := fleet()
	stale.Nodes[0].Pulse = now.Add(-time.Hour)
	ill := fleet()
	ill.Nodes[0].Report.Status = cluster.Faulty
	plain := fleet()
	plain.Nodes[0].Endpoint = "http://b1.example.com"
	const b1, g1 = "https://b1.example.com/x", "https://g1.example.com/x"
	for _, c := range []struct {
		name   string
		s      *cluster.Snapshot
		fields []string
		query  string
		want   string
	}{
		{"to a paused one", paused(fleet(), "node:b1", 0), []string{passTo("b1", time.Hour)}, "", b1},
		{"whatever the mode", covered(fleet(), "all", cluster.Pause{Mode: cluster.Stop}), []string{passTo("b1", time.Hour)}, "", b1},
		{"to a stale one", stale, []string{passTo("b1", time.Hour)}, "", b1},
		{"to one in error", ill, []string{passTo("b1", time.Hour)}, "", b1},
		{"in the second Cookie field", fleet(), []string{"cookie: a=b", passTo("b1", time.Hour)}, "", b1},
		{"not by the group's route, which may lead to another node", fleet(), []string{"Host: app.example.com", passTo("b1", time.Hour)}, "", b1},
		{"not once more", fleet(), []string{passTo("b1", time.Hour)}, "?detour=" + state(1, now, "b1"), g1},
		{"not at the limit of redirects", fleet(), []string{passTo("b1", time.Hour)}, "?detour=" + state(3, now), "503"},
		{"not to one that has left", fleet(), []string{passTo("b9", time.Hour)}, "", g1},
		{"not to another service", fleet(), []string{passTo("s1", time.Hour)}, "", g1},
		{"not from https to http", plain, []string{passTo("b1", time.Hour), "X-Forwarded-Proto: https"}, "", g1},
		{"not after its end", fleet(), []string{passTo("b1", 0)}, "", g1},
		{"a forged one is none", fleet(), []string{"Cookie: detour-pass=b1.zzzzzz.AAAAAAAAAAAAAAAAAAAAAA"}, "", g1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := redirector(passes, rules("path:/=green"), func(c *Config) { c.AllowedHosts = []string{"app.example.com"} })
			d := answer(r, get("/x"+c.query, c.fields...), c.s, now)
			assert.Equal(t, c.want, led(d))
			assert.False(t, d.Hold && d.Status == 307)
		})
	}
	d := answer(redirector(rules("path:/=green")), get("/x", passTo("b1", time.Hour)), fleet(), now)
	assert.Equal(t, g1, led(d), "without a key there are no passes")
}

func TestANodeAdmitsItsOwnPass(t *testing.T) {
	r, req := redirector(passes), get("/", passTo("b1", time.Minute))
	assert.True(t, r.Admits(req, now, "b1"))
	assert.False(t, r.Admits(req, now, "b2"))
	assert.False(t, r.Admits(req, now.Add(time.Minute), "b1"))
	assert.False(t, r.Admits(get("/"), now, ""))
	assert.False(t, redirector().Admits(req, now, "b1"))
}

// Only what was signed is a pass, and it says what was signed.
func FuzzVerifyPass(f *testing.F) {
	f.Add("n1", int64(60), "detour-pass=n1.zzzzzz.AAAAAAAAAAAAAAAAAAAAAA", 3)
	f.Add("a.b.c", int64(0), "detour-pass=..", 0)
	f.Add("n@1_-", int64(-5), "detour-pass=\"\"; detour-pass", -1)
	f.Fuzz(func(t *testing.T, id string, seconds int64, header string, flip int) {
		_, ok := VerifyPass(passKey, header, now)
		require.False(t, ok, "nobody signed %q", header)
		if cluster.CheckID(id) != nil || seconds < -1e9 || seconds > 1e9 {
			return
		}
		until := now + cluster.Millis(seconds*1000)
		value := SignPass(passKey, id, until)
		got, ok := VerifyPass(passKey, header+";detour-pass="+value, until-1)
		require.True(t, ok)
		require.Equal(t, id, got)
		_, ok = VerifyPass(passKey, "detour-pass="+value, until)
		require.False(t, ok)
		changed := []byte(value)
		changed[uint(flip)%uint(len(changed))] ^= 1
		_, ok = VerifyPass(passKey, "detour-pass="+string(changed), until-1)
		require.False(t, ok, "%s for %s", changed, value)
	})
}
