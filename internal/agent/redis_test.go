package agent_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/agent"
	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/pkg/cluster"
)

const pulseEvery = 100 * time.Millisecond

// open returns the registry of a redis-server of the test's own, and a client to
// look behind it.
func open(t *testing.T) (*cluster.Registry, redis.UniversalClient) {
	t.Helper()
	raw, err := cluster.Dial(redistest.Start(t).URL, 5*time.Second)
	require.NoError(t, err)
	r, err := cluster.NewRegistry(raw, "test")
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r, raw
}

// start runs an agent on r until the test ends, and returns it with Run's result
// to come.
func start(t *testing.T, r *cluster.Registry, id string) (*agent.Agent, chan error) {
	t.Helper()
	a := agent.New(r, agent.Config{
		Descriptor: descriptor(id), PulseEvery: pulseEvery,
		Figures: func() cluster.Figures { return cluster.Figures{} },
	})
	require.NoError(t, a.Start(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	ended, result := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(ended)
		result <- a.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return a, result
}

// eventually waits for a snapshot in which ok holds, and returns it.
func eventually(t *testing.T, r *cluster.Registry, ok func(*cluster.Snapshot) bool) *cluster.Snapshot {
	t.Helper()
	var s *cluster.Snapshot
	require.Eventually(t, func() (held bool) {
		var err error
		s, err = r.Snapshot(t.Context(), time.Now)
		return err == nil && ok(s)
	}, 10*time.Second, 5*time.Millisecond)
	return s
}

func TestOnRedis(t *testing.T) {
	r, raw := open(t)
	a1, first := start(t, r, "n1")
	_, other := start(t, r, "n2")
	require.NoError(t, a1.Pause(t.Context(), "deploy"))
	s := eventually(t, r, func(s *cluster.Snapshot) bool {
		return len(s.Nodes) == 2 && s.Nodes[0].Figures != nil && s.Nodes[0].Figures.SeenEpoch >= s.Epoch
	})
	before := s.Nodes
	require.True(t, before[0].IsPaused(), "the pause is there once it was acknowledged")

	require.NoError(t, raw.FlushAll(t.Context()).Err())
	flushed := time.Now()
	s = eventually(t, r, func(s *cluster.Snapshot) bool { return len(s.Nodes) == 2 })
	assert.Less(t, time.Since(flushed), 20*pulseEvery, "two pulses, and patience for a busy machine")
	for i, n := range s.Nodes {
		assert.Equal(t, before[i].Descriptor, n.Descriptor)
		assert.Equal(t, before[i].Report, n.Report)
	}

	next, _ := start(t, r, "n1")
	select {
	case err := <-first:
		require.ErrorIs(t, err, cluster.ErrSuperseded)
	case <-time.After(10 * time.Second):
		t.Fatal("the newer start of n1 has not ended the older one")
	}
	s = eventually(t, r, func(s *cluster.Snapshot) bool { return len(s.Nodes) == 2 })
	assert.True(t, before[0].Generation.Less(s.Nodes[0].Generation))
	assert.Equal(t, cluster.Active, s.Nodes[0].Report.Status, "a new life inherits no pause")

	require.NoError(t, next.Shutdown(t.Context(), "SIGTERM"))
	s = eventually(t, r, func(s *cluster.Snapshot) bool { return len(s.Nodes) == 1 })
	assert.Equal(t, "n2", s.Nodes[0].ID)
	assert.Empty(t, other, "n2 lives on")
}
