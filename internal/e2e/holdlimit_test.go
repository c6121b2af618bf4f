package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// kedacore/http-add-on#1449. A busy machine may be late, not always.
func TestAHoldEndsAtItsLimit(t *testing.T) {
	const limit, late, tries = 2 * time.Second, 200 * time.Millisecond, 3
	w := newWorld(t, 1, map[string]string{"DETOUR_HOLD_MAX": limit.String()})
	w.register(t, "blue-1", "blue", "http://127.0.0.2:1")
	w.register(t, "green-1", "green", "http://127.0.0.3:1")
	_, err := w.registry.Pause(t.Context(), cluster.GroupTarget("blue"), cluster.PauseRequest{Mode: cluster.Hold})
	require.NoError(t, err)
	best := time.Hour
	for range tries {
		began := time.Now()
		resp, err := w.get(t.Context(), "/")
		took := time.Since(began)
		require.NoError(t, err)
		assert.Equal(t, http.StatusTemporaryRedirect, resp.StatusCode)
		assert.Contains(t, resp.Header.Get("Location"), "http://127.0.0.3:1/?detour=", "then it is as redirect")
		require.GreaterOrEqual(t, took, limit)
		if best = min(best, took); best <= limit+late {
			break
		}
	}
	assert.LessOrEqual(t, best, limit+late)
	t.Logf("held for %s", best)
}
