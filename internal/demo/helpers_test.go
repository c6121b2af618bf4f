package demo

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/buildtest"
)

// patience bounds every wait of these tests.
const patience = 30 * time.Second

// short is a demo of a few seconds. Its nodes drain for as long as a client on a
// busy machine may need to follow a redirect.
func short(t *testing.T) Config {
	t.Helper()
	return Config{
		Rounds: 1, Rate: 60, Nodes: 2, Binary: buildtest.Program(t, "./functions/redirect"),
		pace: pace{
			steady: 200 * time.Millisecond, quiet: time.Second, down: 150 * time.Millisecond,
			check: 50 * time.Millisecond, limit: patience,
		},
	}
}

// within returns a context that ends long before the test does.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// silent is told a phase and keeps it for itself.
func silent(string) {}

// newTestWorld returns a world that the test closes.
func newTestWorld(t *testing.T, c Config) *world {
	t.Helper()
	w, err := newWorld(within(t, patience), c, silent)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, w.close(context.Background()))
	})
	return w
}
