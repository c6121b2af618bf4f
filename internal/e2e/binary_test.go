package e2e

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/locallambda"
)

// root is the module's folder.
const root = "../.."

// workshop is a folder for what is built once for all tests.
var workshop string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "detour-e2e-")
	if err != nil {
		panic(fmt.Sprintf("e2e: make a folder: %v", err))
	}
	defer os.RemoveAll(dir)
	workshop = dir
	m.Run()
}

// built is the redirect function's executable.
var built = sync.OnceValues(func() (string, error) {
	if err := openSources(sources...); err != nil {
		return "", fmt.Errorf("open sources: %w", err)
	}
	out := filepath.Join(workshop, "bootstrap")
	return out, locallambda.Build(context.Background(), root, "./functions/redirect", out)
})

// binary returns the path of the redirect function's executable.
func binary(t *testing.T) string {
	t.Helper()
	path, err := built()
	require.NoError(t, err)
	return path
}

// sources are the folders and files that functions and agents are built from.
var sources = []string{"go.mod", "go.sum", "functions/redirect", "internal/agent", "internal/albevent", "internal/config", "internal/e2e/testdata/agent", "pkg"}

// openSources opens the files that programs are built from. The test
// cache knows only what a test itself opens, not what the compiler reads for it,
// and would go on reporting an old success.
func openSources(from ...string) error {
	module := os.DirFS(root)
	for _, at := range from {
		err := fs.WalkDir(module, at, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			f, err := module.Open(path)
			if err != nil {
				return err
			}
			return f.Close()
		})
		if err != nil {
			return err
		}
	}
	return nil
}
