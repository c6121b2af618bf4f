package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/buildtest"
)

// root is the module's folder.
const root = "../.."

// binary returns the path of the redirect function's executable.
func binary(t *testing.T) string {
	t.Helper()
	return buildtest.Program(t, "./functions/redirect")
}

// texts are Go files of the module, by path, that stand in for its own in a
// build, or come in addition.
type texts map[string]string

// edit puts one passage in place of another throughout a file. If the file does
// not hold it, the test ends: the passage has to be looked for anew, or the test
// would try nothing.
func (changed texts) edit(t *testing.T, file, passage, instead string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	require.NoError(t, err)
	require.Contains(t, string(text), passage, "%s no longer holds this passage", file)
	changed[file] = strings.ReplaceAll(string(text), passage, instead)
}

// build builds the package as it is built for Lambda, but with the changed texts,
// and returns the path of the executable, which is called name.
func (changed texts) build(t *testing.T, pkg, name string) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for file, text := range changed {
		original, err := filepath.Abs(filepath.Join(root, file))
		require.NoError(t, err)
		replace[original] = filepath.Join(dir, strconv.Itoa(len(replace))+".go")
		require.NoError(t, os.WriteFile(replace[original], []byte(text), 0o600))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	list := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(list, overlay, 0o600))
	return buildtest.Variant(t, "internal/e2e/"+name, pkg, "-overlay="+list)
}
