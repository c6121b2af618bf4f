package gate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestTheTableOfTheCluster(t *testing.T) {
	w := newWorld(t, "n1", "n2", "n3")
	w.change(func(s *cluster.Snapshot) {
		s.Nodes[1].Role = cluster.Console
		s.Nodes[2].Group, s.Nodes[2].Contexts = "shop", []string{"/only"}
		s.Groups = map[string]cluster.Group{"shop": {ID: "shop", Service: "shop"}}
	})
	w.pause("node:n1", cluster.Pause{Reason: "a secret", By: "somebody"})
	g, h := w.guarded()
	const path = "http://app.example.com/_detour/cluster"
	a := ask(h, "GET", path)
	require.Equal(t, 200, a.Code)
	assert.JSONEq(t, `{"epoch":3,"nodes":[
		{"id":"n1","group":"blue","endpoint":"https://n1.example.com","contexts":["/","/shop"],"offered":false},
		{"id":"n2","group":"blue","endpoint":"https://n2.example.com","contexts":["/","/shop"],"offered":false},
		{"id":"n3","group":"shop","endpoint":"https://n3.example.com","contexts":["/only"],"offered":true}]}`, a.Body.String())
	tag := a.Header().Get("ETag")
	assert.Equal(t, `W/"3"`, tag)
	assert.Equal(t, []string{"3"}, a.Header()["X-Detour-Epoch"])
	for field, want := range map[string]int{tag: 304, `"3"`: 304, `"2", W/"3"`: 304, "*": 304, `"2"`: 200, `"33"`: 200, "3": 200} {
		a := ask(h, "GET", path, "If-None-Match", field)
		assert.Equal(t, want, a.Code, field)
		assert.Equal(t, want == 304, a.Body.Len() == 0)
	}
	assert.Zero(t, ask(h, "HEAD", path).Body.Len())
	assert.Equal(t, 405, ask(h, "POST", path).Code)

	w.resume("node:n1")
	require.NoError(t, g.Look(t.Context()))
	a = ask(h, "GET", path, "If-None-Match", tag)
	assert.Equal(t, 200, a.Code)
	assert.Contains(t, a.Body.String(), `"endpoint":"https://n1.example.com","contexts":["/","/shop"],"offered":true`)
}

func TestTheTableCanBeHidden(t *testing.T) {
	_, h := newWorld(t, "n1").guarded(func(c *Config) { c.HideCluster = true })
	assert.Equal(t, "/_detour/cluster", ask(h, "GET", "/_detour/cluster").Header().Get("X-Saw"))
}
