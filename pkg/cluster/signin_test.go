package cluster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/pkg/cluster"
)

// Whoever may not look has not seen that nobody is there.
func TestARefusedSignInIsNoEmptyRegistry(t *testing.T) {
	for name, options := range map[string][]redistest.Option{"redis": nil, "redis cluster": {redistest.WithCluster()}} {
		t.Run(name, func(t *testing.T) {
			s := redistest.Start(t, options...)
			require.NoError(t, dial(t, s.URL).ConfigSet(t.Context(), "requirepass", "secret").Err())
			query := map[string]string{"redis cluster": "?cluster=true"}[name]
			client := dial(t, "redis://:wrong@"+s.Addr+query)
			r, err := cluster.NewRegistry(client, "test")
			require.NoError(t, err)
			ctx := t.Context()
			for what, call := range map[string]func() error{
				"Snapshot": func() error { _, err := r.Snapshot(ctx, time.Now); return err },
				"Epoch":    func() error { _, err := r.Epoch(ctx, cluster.Counts{}); return err },
				"Time":     func() error { _, err := r.Time(ctx); return err },
				"Born":     func() error { _, _, err := r.Born(ctx, "n1"); return err },
				"Leave":    func() error { _, err := r.Leave(ctx, "n1", "1-a"); return err },
				"Work":     func() error { _, err := r.Work(ctx); return err },
				"Notes":    func() error { _, err := r.Notes(ctx); return err },
			} {
				assert.ErrorContains(t, call(), "WRONGPASS", what)
			}
		})
	}
}
