package e2e

import (
	"context"
	"crypto/sha256"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// delivery is a request to the paused group that has to arrive at its peer.
type delivery struct {
	method, uri, contentType string
	body                     []byte
}

// awkward is the rest of a request target that a client or a function is tempted
// to clean up. A load balancer's event keeps the order of values under one key
// but sorts the keys, so they stand in that order.
const awkward = "a%2Fb/%E2%82%AC;v=1/c+d//e?a=1&a=2&b=x+y%2Fz%26&c=%20&d="

func TestARequestArrivesWholeAtThePeer(t *testing.T) {
	large := make([]byte, 900_000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(large) // never fails
	deliveries := map[string]delivery{
		"a large POST":  {http.MethodPost, "/shop/" + awkward, "application/octet-stream", large},
		"a PUT of JSON": {http.MethodPut, "/api/" + awkward, "application/json", []byte(`{"note":"5\" gift ✓"}`)},
	}
	w, blue, green := twoGroups(t)
	for name, find := range clients {
		send := find(t)
		for what, d := range deliveries {
			t.Run(what+" by "+name, func(t *testing.T) {
				w.deliver(t, send, d, green)
				assert.Empty(t, blue.take(), "at the paused node")
			})
		}
	}
}

// Without multi-value headers a load balancer passes on the last value of a
// repeated key only; everything else has to arrive all the same.
func TestARequestArrivesWithoutMultiValueHeaders(t *testing.T) {
	w, blue, green := twoGroups(t)
	w.deliver(t, netHTTP, delivery{
		http.MethodPut, "/single/a%2Fb/c+d?b=x+y%2Fz%26&c=%20&d=", "application/json", []byte(`{"a":1}`),
	}, green)
	assert.Empty(t, blue.take(), "at the paused node")
}

// twoGroups is a world with a node in each of blue, which is paused, and green.
func twoGroups(t *testing.T) (w *world, blue, green *node) {
	t.Helper()
	w = newWorld(t, 2, nil)
	blue, green = startNode(t, "127.0.0.2"), startNode(t, "127.0.0.3")
	require.NoError(t, w.alb.Register("blue", strings.TrimPrefix(blue.endpoint, "http://")))
	w.register(t, "b1", "blue", blue.endpoint)
	w.register(t, "g1", "green", green.endpoint)
	w.pause(t, cluster.GroupTarget("blue"))
	return w, blue, green
}

// deliver sends d through the load balancer and compares what arrives at to.
func (w *world) deliver(t *testing.T, send client, d delivery, to *node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	status, err := send(ctx, request{d.method, w.alb.URL() + d.uri, d.contentType, d.body})
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, status)

	got := to.take()
	require.Len(t, got, 1)
	uri, hop, found := strings.Cut(got[0].uri, "&detour=")
	assert.True(t, found, "no hop parameter in %s", got[0].uri)
	assert.Regexp(t, `^1\.[0-9a-z]+\.[0-9a-z]+$`, hop)
	assert.Equal(t, d.uri, uri)
	assert.Equal(t, d.method, got[0].method)
	assert.Equal(t, []string{d.contentType}, got[0].header.Values("Content-Type"))
	assert.Equal(t, len(d.body), got[0].size)
	assert.Equal(t, sha256.Sum256(d.body), got[0].hash)
}
