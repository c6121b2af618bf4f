package demo

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/internal/traffic"
)

func TestADeploymentLosesNothingAndLeavesNothingBehind(t *testing.T) {
	server := redistest.Start(t)
	c := short(t)
	c.RedisURL = server.URL
	var last Progress
	phases := map[string]bool{}
	r, err := Run(within(t, 2*patience), c, func(p Progress) {
		last, phases[p.Phase] = p, true
	})
	require.NoError(t, err)

	assert.Empty(t, r.Failures)
	assert.Zero(t, r.Failed)
	assert.Zero(t, r.Unavailable)
	assert.Zero(t, r.BodyMismatches)
	assert.Equal(t, r.Requests, r.OK)
	assert.Greater(t, r.Requests, 100)
	assert.Positive(t, r.Redirected)
	assert.Less(t, r.Redirected, r.Requests)
	assert.Equal(t, 4, r.NodesDeployed)
	assert.Positive(t, r.P50MS)
	assert.GreaterOrEqual(t, r.P99MS, r.P50MS)
	assert.Positive(t, r.DurationS)

	assert.Equal(t, 4, last.NodesDeployed)
	assert.Equal(t, 4, last.NodesTotal)
	assert.Equal(t, r.Requests, last.Requests)
	assert.Equal(t, r.OK, last.OK)
	assert.Equal(t, r.Redirected, last.Redirected)
	for _, phase := range []string{"draining blue-1", "draining blue", "draining green-1", "draining green", "steady traffic", "done"} {
		assert.Contains(t, phases, phase)
	}

	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close()
	keys, err := client.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	assert.Empty(t, keys)
}

func TestTheSameDeploymentWithoutDetourLosesRequests(t *testing.T) {
	c := short(t)
	c.WithoutDetour = true
	c.Binary = "/nonexistent" // nothing of Detour is used
	c.pace.down = 300 * time.Millisecond
	c.pace.check = 200 * time.Millisecond
	r, err := Run(within(t, patience), c, nil)
	require.NoError(t, err)
	assert.Positive(t, r.Failed)
	assert.Equal(t, r.Requests, r.OK+r.Failed)
	assert.Positive(t, r.OK)
	assert.Zero(t, r.Redirected)
	assert.Equal(t, 4, r.NodesDeployed)
	require.NotEmpty(t, r.Failures)
	assert.LessOrEqual(t, len(r.Failures), 20)
	first := r.Failures[0]
	assert.True(t, first.Status != 0 || first.Error != "", "%+v", first)
	assert.NotEmpty(t, first.Phase)
	assert.Contains(t, first.URL, "/items/")
}

func TestAnEndedContextEndsTheDemoWithoutFailures(t *testing.T) {
	ctx, cancel := context.WithCancel(within(t, patience))
	began := time.Now()
	r, err := Run(ctx, short(t), func(p Progress) {
		if p.Phase == "draining blue-1" {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	assert.Less(t, time.Since(began), patience)
	assert.Positive(t, r.Requests)
	assert.Zero(t, r.Failed)
}

func TestAnUnreachableRegistryIsNamed(t *testing.T) {
	c := short(t)
	c.RedisURL = "redis://127.0.0.1:1"
	r, err := Run(within(t, patience), c, nil)
	require.ErrorContains(t, err, "demo: open registry: ")
	assert.NotNil(t, r.Failures)
	c.RedisURL = "http://127.0.0.1"
	_, err = Run(within(t, patience), c, nil)
	require.ErrorContains(t, err, "demo: open registry: ")
}

func TestAMissingFunctionIsNamed(t *testing.T) {
	c := short(t)
	c.Binary = "/nonexistent"
	_, err := Run(within(t, patience), c, nil)
	require.ErrorContains(t, err, "/nonexistent")
	c.Binary, c.ModuleDir = "", t.TempDir()
	_, err = Run(within(t, patience), c, nil)
	require.ErrorContains(t, err, "go.mod")
}

func TestAClosedWorldIsGone(t *testing.T) {
	c := short(t)
	c.WithoutDetour = true
	w, err := newWorld(within(t, patience), c, silent)
	require.NoError(t, err)
	addresses := []string{w.balancer.URL()}
	for _, n := range w.nodes {
		addresses = append(addresses, n.URL())
	}
	require.NoError(t, w.close(t.Context()))
	require.NoError(t, w.close(t.Context()), "a second time is harmless")
	for _, address := range addresses {
		_, err := get(t, address+traffic.HealthPath)
		assert.Error(t, err, address)
	}
}

// get returns the status of a GET on a connection of its own.
func get(t *testing.T, address string) (int, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(within(t, patience), http.MethodGet, address, http.NoBody)
	require.NoError(t, err)
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	return res.StatusCode, nil
}
