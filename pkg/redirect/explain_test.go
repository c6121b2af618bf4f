package redirect

import (
	"testing"

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
