//go:build unix

package recipes

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/buildtest"
)

// root is the module's folder.
const root = "../.."

// Packages of the programs that recipes run, and of the function behind the load
// balancer.
const (
	detour      = "./cmd/detour"
	application = "./internal/recipes/testdata/app"
	function    = "./functions/redirect"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil { // these tests wait much more than they work
		panic(fmt.Sprintf("recipes: run in parallel: %v", err))
	}
	m.Run()
}

// edit is one change to a recipe's text: what an operator fills in, or what a test
// spoils to see that it matters.
type edit struct{ old, new string }

// recipe returns the text of a file of docs/recipes, edited. Each edit changes
// something.
func recipe(t *testing.T, name string, edits ...edit) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "docs", "recipes", name))
	require.NoError(t, err)
	text := string(raw)
	for _, e := range edits {
		require.Contains(t, text, e.old, "in %s", name)
		text = strings.ReplaceAll(text, e.old, e.new)
	}
	return text
}

// place writes a file into a new or old folder.
func place(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), mode))
}

// install puts the application into dir, with its version.
func install(t *testing.T, dir, version string) {
	t.Helper()
	program, err := os.ReadFile(buildtest.Program(t, application))
	require.NoError(t, err)
	place(t, filepath.Join(dir, "run"), string(program), 0o755)
	place(t, filepath.Join(dir, "version"), version, 0o644)
}

func TestTheRecipesAreInOrder(t *testing.T) {
	guide := recipe(t, "README.md")
	assert.LessOrEqual(t, strings.Count(guide, "\n"), 120)
	err := fs.WalkDir(os.DirFS(filepath.Join(root, "docs", "recipes")), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path == "README.md" {
			return err
		}
		assert.Contains(t, guide, "("+path+")", "the guide links each file")
		text := recipe(t, path)
		assert.NotContains(t, text, "\t", path)
		if !strings.HasSuffix(path, ".sh") || path == "codedeploy/scripts/node.sh" {
			return nil
		}
		assert.True(t, strings.HasPrefix(text, "#!/bin/sh\n#"), path)
		assert.Contains(t, text, "\nset -eu\n", path)
		info, err := entry.Info()
		assert.NotZero(t, info.Mode()&0o111, path)
		return err
	})
	require.NoError(t, err)
}
