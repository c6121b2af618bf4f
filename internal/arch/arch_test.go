package arch

import (
	"io/fs"
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheModuleKeepsItsArchitecture(t *testing.T) {
	files, err := parse(os.DirFS("../.."))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for name, rule := range map[string]rule{
		"imports run one way":                     importsRunOneWay,
		"only pkg/cluster speaks to Redis":        onlyClusterSpeaksToRedis,
		"pure packages are pure":                  purePackagesArePure,
		"every package is described in one place": everyPackageIsDescribed,
		"files and functions are small":           filesAndFunctionsAreSmall,
		"only a main exits":                       onlyAMainExits,
	} {
		t.Run(name, func(t *testing.T) {
			for _, violation := range rule(files) {
				t.Error(violation)
			}
		})
	}
}

// row is a small tree and what a rule finds in it.
type row struct {
	name string
	tree map[string]string // path → source
	want []string
}

func check(t *testing.T, rule rule, rows []row) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			files, err := parse(mapFS(row.tree))
			require.NoError(t, err)
			assert.ElementsMatch(t, row.want, rule(files))
		})
	}
}

func mapFS(tree map[string]string) fs.FS {
	fsys := fstest.MapFS{}
	for name, source := range tree {
		fsys[name] = &fstest.MapFile{Data: []byte(source)}
	}
	return fsys
}

func TestParsePassesOverWhatIsNotOurs(t *testing.T) {
	files, err := parse(mapFS(map[string]string{
		"go.mod":              "module m",
		"a/a.go":              "package a",
		"a/a_test.go":         "package a",
		"a/testdata/bad.go":   "not Go at all",
		".hidden/bad.go":      "not Go at all",
		"dist/bad.go":         "not Go at all",
		"tools/go.mod":        "module m/tools",
		"tools/bad.go":        "not Go at all",
		"README.md":           "not Go at all",
		"internal/dist/ok.go": "package dist",
	}))
	require.NoError(t, err)
	var paths []string
	for _, f := range files {
		paths = append(paths, f.path)
	}
	assert.Equal(t, []string{"a/a.go", "a/a_test.go", "internal/dist/ok.go"}, paths)
}

func TestParseRefusesBrokenSource(t *testing.T) {
	_, err := parse(mapFS(map[string]string{"a/a.go": "not Go at all"}))
	require.ErrorContains(t, err, "a/a.go:1")
}
