package gate

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestAClientAsksForTheTableOnlyWhenItChanged(t *testing.T) {
	w := newWorld(t, "n1", "n2")
	g, h := w.guarded()
	statuses := map[int]int{}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		statuses[rec.Code]++
		for name, values := range rec.Header() {
			rw.Header()[name] = values
		}
		rw.WriteHeader(rec.Code)
		_, _ = rw.Write(rec.Body.Bytes())
	}))
	t.Cleanup(server.Close)
	answer := func() http.Header { return ask(h, "GET", "http://app.example.com/").Header() }

	c := NewClient(server.URL, nil)
	assert.True(t, c.Changed(answer()), "it knows nothing yet")
	assert.False(t, c.Changed(http.Header{}), "an answer of somebody else")
	first, err := c.Table(t.Context())
	require.NoError(t, err)
	require.Len(t, first.Nodes, 2)
	assert.Equal(t, TableNode{"n2", "blue", "https://n2.example.com", []string{"/", "/shop"}, true}, first.Nodes[1])
	assert.False(t, c.Changed(answer()))
	same, err := c.Table(t.Context())
	require.NoError(t, err)
	assert.Same(t, first, same)
	assert.Equal(t, map[int]int{200: 1, 304: 1}, statuses)

	w.pause("node:n2", cluster.Pause{})
	require.NoError(t, g.Look(t.Context()))
	assert.True(t, c.Changed(answer()))
	second, err := c.Table(t.Context())
	require.NoError(t, err)
	assert.False(t, second.Nodes[1].Offered)
	assert.Greater(t, second.Epoch, first.Epoch)
	assert.False(t, c.Changed(answer()))
}

func TestAClientKeepsTheLastTable(t *testing.T) {
	answers := []func(w http.ResponseWriter){
		func(w http.ResponseWriter) { w.WriteHeader(503) },
		func(w http.ResponseWriter) { w.WriteHeader(304) },
		func(w http.ResponseWriter) { w.Header().Set("ETag", `W/"7"`); _, _ = w.Write([]byte(`{"epoch":7}`)) },
		func(w http.ResponseWriter) { _, _ = w.Write([]byte(`{"epoch":`)) },
		func(w http.ResponseWriter) { w.WriteHeader(404) },
	}
	i := -1
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { i++; answers[i](w) }))
	t.Cleanup(server.Close)
	c := NewClient(server.URL, nil)
	for n := range answers {
		table, err := c.Table(t.Context())
		assert.Equal(t, n != 2, err != nil, "answer %d", n)
		if n < 2 {
			assert.Nil(t, table)
			continue
		}
		assert.EqualValues(t, 7, table.Epoch, "answer %d", n)
	}
	server.Close()
	table, err := c.Table(t.Context())
	require.Error(t, err)
	assert.EqualValues(t, 7, table.Epoch)
}
