package redirect

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestExplain(t *testing.T) {
	s := nodes(well("n1", "blue"), well("n2", "blue", at("http://n2.example.com")), well("n3", "blue"))
	paused(s, "node:n3", 0)
	why := func(e Explanation) (all []string) {
		for _, v := range e.Verdicts {
			assert.Equal(t, v.Node.Role, cluster.Role(""), "the node as it is registered")
			all = append(all, v.Node.ID+" "+v.Why)
		}
		return all
	}
	e := redirector(rules("tg=blue")).Explain(through("tg", get("/a?detour="+state(1, now, "n1"))), s, now)
	assert.Equal(t, []string{"n1 visited", "n2 offered", "n3 paused by node:n3"}, why(e))
	assert.Equal(t, "http://n2.example.com/a", led(e.Decision))
	assert.Equal(t, "blue", e.Group)
	assert.Equal(t, 1, e.Hops)

	e = redirector().Explain(get("", "X-Forwarded-Proto: https"), s, now)
	assert.Equal(t, []string{"n1 offered", "n2 not https", "n3 paused by node:n3"}, why(e))
	assert.Equal(t, "https://n1.example.com/", led(e.Decision))

	e = redirector(func(c *Config) { c.TrustForwardedPath = true }).Explain(get("/", "X-Forwarded-Path: /?detour="+state(2, now)), s, now)
	assert.Equal(t, 2, e.Hops)

	e = redirector().Explain(request("OPTIONS", "*"), s, now)
	assert.Equal(t, 400, e.Decision.Status)
}

func TestExplainTellsOfTheSession(t *testing.T) {
	redirected := cluster.Pause{Reason: "release 42"}
	for _, c := range []struct {
		s      *cluster.Snapshot
		fields string
		want   string
	}{
		{family(cluster.Affinity{}), "Cookie: a=b", ""},
		{family(cluster.Affinity{}), "Cookie: JSESSIONID=abc", ""},
		{family(cluster.Affinity{}), "Cookie: JSESSIONID=abc.gone", "session names no node that is known here"},
		{family(cluster.Affinity{}), "Cookie: JSESSIONID=abc.n1", "session stays with b1"},
		{drained(family(cluster.Affinity{}), "node:b1", 0), "Cookie: JSESSIONID=abc.n1", "session stays with b1: drain without a deadline"},
		{drained(drained(family(cluster.Affinity{}), "node:b1", now+60_000), "all", now+90_000), "Cookie: JSESSIONID=abc.n1", "session stays with b1: drain until 2023-11-14T22:14:20Z"},
		{covered(family(cluster.Affinity{}), "node:b1", cluster.Pause{Mode: cluster.Drain, Until: now + 1, Deadline: now + 2}), "Cookie: JSESSIONID=abc.n1", "session stays with b1: drain without a deadline"},
		{covered(family(cluster.Affinity{}), "node:b1", redirected), "Cookie: JSESSIONID=abc.n1", "session leaves b1: it is paused by node:b1: release 42"},
		{covered(family(cluster.Affinity{}), "node:b1", redirected), "Cookie: JSESSIONID=abc.n1.n3", "session goes on at g1: b1 is paused by node:b1: release 42"},
		{covered(family(cluster.Affinity{}), "node:b1", cluster.Pause{Mode: cluster.Hold}), "Cookie: JSESSIONID=abc.n1", "session waits for its node: b1 is paused by node:b1"},
		{covered(family(cluster.Affinity{Strict: true}), "node:b1", redirected), "Cookie: JSESSIONID=abc.n1", "session leaves b1, but not group blue and its fallbacks: it is paused by node:b1: release 42"},
	} {
		x := redirector(sessions, rules("tg=blue")).Explain(through("tg", get("/x", c.fields)), c.s, now)
		assert.Equal(t, c.want, x.Session)
	}
	x := redirector(passes).Explain(get("/x", passTo("b1", time.Hour)), family(cluster.Affinity{}), now)
	assert.Equal(t, "b1", x.Pass)
}
