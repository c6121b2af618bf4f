package locallambda_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/locallambda"
)

func TestBuildWritesAnExecutable(t *testing.T) {
	info, err := os.Stat(binary(t))
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&0o100)
}

func TestBuildSaysWhatIsMissing(t *testing.T) {
	out := filepath.Join(t.TempDir(), "bootstrap")
	t.Run("the module", func(t *testing.T) {
		err := locallambda.Build(t.Context(), t.TempDir(), "./testdata/echo", out)
		require.ErrorContains(t, err, "no go.mod in or above")
		require.ErrorIs(t, err, os.ErrNotExist)
	})
	t.Run("the package", func(t *testing.T) {
		err := locallambda.Build(t.Context(), ".", "./testdata/none", out)
		require.ErrorContains(t, err, "build ./testdata/none")
		require.ErrorContains(t, err, "directory not found")
	})
	t.Run("the go tool", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		err := locallambda.Build(t.Context(), ".", "./testdata/echo", out)
		require.ErrorContains(t, err, "the go tool is needed and not on PATH")
	})
}
