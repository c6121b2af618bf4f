package demo

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/locallambda"
)

// patience bounds every wait of these tests.
const patience = 30 * time.Second

// built is the redirect function, compiled once, in a folder of its own.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "demo-test-")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "redirect")
	return out, locallambda.Build(context.Background(), "../..", "./functions/redirect", out)
})

func TestMain(m *testing.M) {
	m.Run()
	if path, _ := built(); path != "" {
		_ = os.RemoveAll(filepath.Dir(path))
	}
}

// short is a demo of a few seconds. Its nodes drain for as long as a client on a
// busy machine may need to follow a redirect.
func short(t *testing.T) Config {
	t.Helper()
	binary, err := built()
	require.NoError(t, err)
	return Config{
		Rounds: 1, Rate: 60, Nodes: 2, Binary: binary,
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
