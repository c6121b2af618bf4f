package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/localalb"
	"github.com/detourhq/detour/pkg/cluster"
)

// maxRedirects is the default limit of hops. Java's client is the first to give
// up by itself, after 4.
const maxRedirects = 3

// Every endpoint leads back to the load balancer, and there is always one more
// node that was not visited yet: only the count of hops ends it.
func TestALoopEndsThoughClientsCarryNoState(t *testing.T) {
	w := newWorld(t, 2, nil)
	for i := range maxRedirects + 2 {
		w.register(t, fmt.Sprintf("g%d", i), "green", w.alb.URL())
	}
	w.pause(t, cluster.GroupTarget("blue"))
	for name, find := range clients {
		send := find(t)
		for method, body := range map[string]string{http.MethodGet: "", http.MethodPost: "an order"} {
			t.Run(method+" by "+name, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				path := "/" + t.Name()
				status, err := send(ctx, request{method, w.alb.URL() + path, "text/plain", []byte(body)})
				require.NoError(t, err)
				assert.Equal(t, http.StatusServiceUnavailable, status)
				w.assertLooped(t, method, path)
			})
		}
	}
}

// assertLooped wants the load balancer to have redirected the request to path as
// often as the limit allows, and then to have answered 503.
func (w *world) assertLooped(t *testing.T, method, path string) {
	t.Helper()
	var got []localalb.Record
	require.Eventually(t, func() bool { // a record comes after its answer
		got = w.records.of(path)
		return len(got) > maxRedirects
	}, patience, time.Millisecond)
	require.Len(t, got, maxRedirects+1)
	statuses := map[string]int{}
	for _, rec := range got {
		assert.Equal(t, method, rec.Method)
		_, hop, _ := strings.Cut(rec.URI, "?detour=")
		hops, _, _ := strings.Cut(hop, ".")
		statuses[hops] = rec.Status
	}
	assert.Equal(t, map[string]int{"": 307, "1": 307, "2": 307, "3": 503}, statuses)
}
