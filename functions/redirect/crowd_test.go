package main

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/redirect"
)

// heap returns the bytes that are in use after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// onHoldAll returns a handler that holds up to 300 requests, and a client of its
// registry, in which everything is on hold.
func onHoldAll(t *testing.T, hold time.Duration) (*handler, redis.UniversalClient) {
	t.Helper()
	server := redistest.Start(t)
	h := newHandler(map[string]string{
		"DETOUR_REDIS_URL": server.URL, "DETOUR_REDIS_TIMEOUT": "10s", "DETOUR_HOLD_MAX": hold.String(),
		"DETOUR_HOLD_LIMIT": "300", "DETOUR_HOLD_PER_SOURCE": "300",
	}, time.Now, slog.New(slog.DiscardHandler))
	client, err := cluster.Dial(server.URL, 10*time.Second)
	require.NoError(t, err)
	r, err := cluster.NewRegistry(client, "default")
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	_, _, err = r.Register(t.Context(), cluster.Descriptor{ID: "n1", Group: "blue", Endpoint: "https://n1.example.com"},
		cluster.Report{Status: cluster.Active})
	require.NoError(t, err)
	_, err = r.Pause(t.Context(), cluster.All, cluster.PauseRequest{Mode: cluster.Hold})
	require.NoError(t, err)
	return h, client
}

// knative/serving#13583, kubernetes/ingress-nginx#6508: whoever holds without a
// limit is brought down by those that come on.
func TestACrowdBeyondTheLimitIsRefusedAtOnce(t *testing.T) {
	const limit, beyond, hold = 300, 10_000, time.Minute
	h, client := onHoldAll(t, hold)
	before := heap()
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	var patient sync.WaitGroup
	for range limit {
		patient.Go(func() { _, _ = ask(ctx, h) })
	}
	taken := func() bool { return client.ZCard(t.Context(), "{detour:default}:holds").Val() == limit }
	require.Eventually(t, taken, 30*time.Second, 10*time.Millisecond)

	answers := make([]redirect.Decision, beyond)
	began := time.Now()
	var crowd sync.WaitGroup
	for first := range 100 {
		crowd.Go(func() {
			for i := first; i < beyond; i += 100 {
				answers[i], _ = ask(t.Context(), h)
			}
		})
	}
	crowd.Wait()
	took := time.Since(began)
	assert.Less(t, took, hold/2, "nobody of them has waited")
	for _, d := range answers {
		require.Equal(t, 503, d.Status)
		require.Contains(t, d.Header, redirect.Field{Name: "Retry-After", Value: "5"})
	}
	clear(answers)
	assert.True(t, taken(), "and all others still wait")
	grown := int64(heap()) - int64(before)
	assert.Less(t, grown, int64(limit*64<<10), "bytes")
	t.Logf("%d refused in %s beside %d held, for which the heap grew by %d KiB", beyond, took, limit, grown>>10)
	giveUp()
	patient.Wait()
}
