package arch

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", path))
	require.NoError(t, err)
	return string(text)
}

// mentioned returns what pattern's first group finds in text, each once, in order.
func mentioned(text, pattern string) []string {
	found := make(map[string]bool)
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func TestTheREADMENamesEveryVariableThatIsRead(t *testing.T) {
	var code strings.Builder
	for _, folder := range []string{"internal/config", "cmd/detour"} {
		files, err := filepath.Glob(filepath.Join("..", "..", folder, "*.go"))
		require.NoError(t, err)
		for _, f := range files {
			if !strings.HasSuffix(f, "_test.go") {
				code.WriteString(read(t, filepath.Join(folder, filepath.Base(f))))
			}
		}
	}
	variables := mentioned(code.String(), `(?:env:|environment\[)"(DETOUR_[A-Z_]+)"`)
	require.NotEmpty(t, variables)
	assert.Equal(t, variables, mentioned(read(t, "README.md"), `(DETOUR_[A-Z_]+)`))
}

func TestTheREADMEIsShort(t *testing.T) {
	assert.LessOrEqual(t, strings.Count(read(t, "README.md"), "\n"), 150)
}

// Every guarantee names its tests, and they are there.
func TestEveryGuaranteeHasItsTests(t *testing.T) {
	_, table, ok := strings.Cut(read(t, "docs/ARCHITECTURE.md"), "## Guarantees")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| (G\d) .*$`).FindAllStringSubmatch(table, -1)
	require.Len(t, rows, 8)
	for _, row := range rows {
		tests := regexp.MustCompile("`([a-z0-9/]+)` ((?:(?:Test|Fuzz)\\w+(?:, )?)+)").FindAllStringSubmatch(row[0], -1)
		assert.NotEmpty(t, tests, row[1])
		for _, folder := range tests {
			for _, name := range strings.Split(strings.TrimSuffix(folder[2], ", "), ", ") {
				assert.True(t, declared(t, folder[1], name), "%s: %s has no %s", row[1], folder[1], name)
			}
		}
	}
}

func declared(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", folder, "*_test.go"))
	require.NoError(t, err)
	return slices.ContainsFunc(files, func(f string) bool {
		return strings.Contains(read(t, filepath.Join(folder, filepath.Base(f))), "func "+name+"(")
	})
}
