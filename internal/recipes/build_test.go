//go:build unix

package recipes

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/locallambda"
)

// root is the module's folder.
const root = "../.."

// workshop is a folder for what is built once for all tests.
var workshop string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "detour-recipes-")
	if err != nil {
		panic(fmt.Sprintf("recipes: make a folder: %v", err))
	}
	defer os.RemoveAll(dir)
	workshop = dir
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil { // these tests wait much more than they work
		panic(fmt.Sprintf("recipes: run in parallel: %v", err))
	}
	m.Run()
}

// built has detour, the redirect function and the application in the workshop.
var built = sync.OnceValue(func() error {
	// The test cache knows what a test opens, not what the compiler reads for it.
	for _, folder := range []string{"cmd", "functions/redirect", "internal", "pkg"} {
		err := fs.WalkDir(os.DirFS(root), folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			_, err = os.ReadFile(filepath.Join(root, path))
			return err
		})
		if err != nil {
			return err
		}
	}
	for name, pkg := range map[string]string{"detour": "./cmd/detour", "redirect": "./functions/redirect", "app": "./internal/recipes/testdata/app"} {
		if err := locallambda.Build(context.Background(), root, pkg, filepath.Join(workshop, name)); err != nil {
			return err
		}
	}
	return nil
})

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
	require.NoError(t, built())
	program, err := os.ReadFile(filepath.Join(workshop, "app"))
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
