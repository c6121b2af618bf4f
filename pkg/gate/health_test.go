package gate

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestHealth(t *testing.T) {
	own := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(599) })
	lb := []string{"User-Agent", "ELB-HealthChecker/2.0"}
	open := func(*world) {}
	paused := func(w *world) { w.pause("node:n1", cluster.Pause{Mode: cluster.Drain}) }
	for _, c := range []struct {
		name   string
		do     func(*world)
		health http.Handler
		path   string
		header []string
		want   int
	}{
		{"a node that nothing covers is well", open, nil, "/_health", nil, 200},
		{"as the application says", open, own, "/_health", nil, 599},
		{"at the configured path too", open, own, "/well", nil, 599},
		{"wherever a load balancer asks, the application answers", open, own, "/shop", lb, 200},
		{"a paused node is out, whatever the mode", paused, own, "/_health", nil, 503},
		{"at the configured path too", paused, nil, "/well", nil, 503},
		{"and wherever a load balancer asks", paused, nil, "/shop", lb, 503},
		{"though nobody else is left", func(w *world) { w.pause("all", cluster.Pause{}) }, nil, "/_health", nil, 503},
		{"a starting node is not in yet", func(w *world) { w.report(cluster.Starting) }, nil, "/_health", nil, 503},
		{"a context's pause is not the node's", func(w *world) { w.pause("context:n1/shop", cluster.Pause{}) }, nil, "/_health", nil, 200},
		{"the probe asks the application", paused, own, "/probe", nil, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "n1", "n2")
			c.do(w)
			_, h := w.guarded(func(g *Config) { g.Health, g.HealthPath, g.ProbePath = c.health, "/well", "/probe" })
			assert.Equal(t, c.want, ask(h, "GET", c.path, c.header...).Code)
		})
	}
}

// A load balancer with stickiness gives the sessions of an ill target to others.
func TestANodeInDrainIsWellUntilItsLastSessionHasEnded(t *testing.T) {
	w := newWorld(t, "n1", "n2")
	sessions := int64(1)
	g, h := w.guarded(func(c *Config) { c.Sessions = func() int64 { return sessions } })
	health := func() int { return ask(h, "GET", "/_health").Code }
	look := func(p cluster.Pause) int {
		w.pause("node:n1", p)
		assert.NoError(t, g.Look(t.Context()))
		return health()
	}
	assert.Equal(t, 200, look(cluster.Pause{Mode: cluster.Drain}))
	sessions = 0
	assert.Equal(t, 503, health())
	sessions = 1
	for _, mode := range []cluster.Mode{cluster.Redirect, cluster.Hold, cluster.Stop} {
		assert.Equal(t, 503, look(cluster.Pause{Mode: mode}), "no session stays in mode %s", mode)
	}
	assert.Equal(t, 503, look(cluster.Pause{Mode: cluster.Drain, Deadline: 1}), "nor past the deadline")
}
