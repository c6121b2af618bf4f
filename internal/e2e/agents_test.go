package e2e

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/agent"
	"github.com/detourhq/detour/pkg/cluster"
)

// pulseEvery is the pulse interval of agents.
const pulseEvery = time.Second

// startAgent keeps a node in the registry until the test ends or it has left.
// quiet may be nil.
func startAgent(t *testing.T, r *cluster.Registry, id, group, endpoint string, quiet func(context.Context) error, log *journal) *agent.Agent {
	t.Helper()
	a := agent.New(r, agent.Config{
		Descriptor: cluster.Descriptor{ID: id, Group: group, Endpoint: endpoint, Weight: cluster.DefaultWeight},
		PulseEvery: pulseEvery,
		Figures:    func() cluster.Figures { return cluster.Figures{} },
		Quiet:      quiet,
		Log:        slog.New(slog.NewTextHandler(log, nil)),
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, a.Start(ctx))
	running, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = a.Run(running) }) // it ends with the test, or when the node has left
	t.Cleanup(func() {
		stop()
		all.Wait()
	})
	return a
}

// eventually waits for a snapshot in which ok holds, and returns it.
func eventually(t *testing.T, r *cluster.Registry, ok func(*cluster.Snapshot) bool) *cluster.Snapshot {
	t.Helper()
	var s *cluster.Snapshot
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var err error
		s, err = r.Snapshot(ctx, time.Now)
		return err == nil && ok(s)
	}, patience, 5*time.Millisecond)
	return s
}

// obeyed reports whether every node acts on the epoch that the registry has.
func obeyed(s *cluster.Snapshot) bool {
	for _, n := range s.Nodes {
		if n.Figures == nil || n.Figures.SeenEpoch < s.Epoch {
			return false
		}
	}
	return true
}
