package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// While the copies are frozen the registry drops their connections, as it does
// with idle ones, and changes. The first request of each copy sees the change:
// nothing stale would be forgiven here.
func TestConnectionsThatDiedInAFreezeCostNoRequest(t *testing.T) {
	const copies = 2
	w := newWorld(t, copies, map[string]string{"DETOUR_STALE_IF_ERROR": "0s"})
	w.pause(t, cluster.GroupTarget("blue"))
	w.register(t, "g0", "green", "http://g0.example.com")
	for tries := 0; w.function.Stats().ColdStarts < copies; tries++ {
		require.Less(t, tries, 100, "bursts until all copies run")
		w.burst(t, 4*copies, "g0.example.com")
	}

	client := w.rawRegistry(t)
	for round := 1; round <= 3; round++ {
		killed, err := client.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Result()
		require.NoError(t, err)
		require.GreaterOrEqual(t, killed, int64(copies), "connections of the copies")
		id := fmt.Sprintf("g%d", round)
		w.register(t, id, "green", "http://"+id+".example.com")
		w.pause(t, cluster.NodeTarget(fmt.Sprintf("g%d", round-1)))
		w.burst(t, 4*copies, id+".example.com")
	}
	assert.Equal(t, copies, w.function.Stats().ColdStarts)
}

// burst sends n requests at the same time and wants all of them redirected to
// host.
func (w *world) burst(t *testing.T, n int, host string) {
	t.Helper()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			resp, err := w.get(t.Context(), "/")
			if !assert.NoError(t, err) {
				return
			}
			assert.Equal(t, http.StatusTemporaryRedirect, resp.StatusCode)
			assert.Contains(t, resp.Header.Get("Location"), "http://"+host+"/?detour=")
		})
	}
	all.Wait()
}
