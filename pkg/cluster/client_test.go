package cluster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/pkg/cluster"
)

func TestTheFirstCallAfterAnOutageIsServed(t *testing.T) {
	server := redistest.Start(t)
	client, err := cluster.Dial(server.URL, 250*time.Millisecond)
	require.NoError(t, err)
	r, err := cluster.NewRegistry(client, "test")
	require.NoError(t, err)
	defer func() { _ = r.Close() }()
	for range 3 {
		require.NoError(t, func() error { _, err := r.Epoch(shortContext(t), cluster.Counts{}); return err }())
		server.Kill()
		for range 5 { // more than the pool has connections
			_, err := r.Epoch(shortContext(t), cluster.Counts{})
			assert.ErrorContains(t, err, "refused")
		}
		server.Restart()
		_, err := r.Epoch(shortContext(t), cluster.Counts{})
		assert.NoError(t, err)
	}
}
