package arch

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reach adds to seen what the package in folder imports, and what those of this
// module import in turn. Tests do not count.
func reach(t *testing.T, folder string, seen map[string]bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", folder, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files, folder)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, i := range f.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			require.NoError(t, err)
			if seen[path] {
				continue
			}
			seen[path] = true
			if ours, ok := strings.CutPrefix(path, module+"/"); ok {
				reach(t, ours, seen)
			}
		}
	}
}

// The redirect function starts cold in the middle of a deployment: clients of AWS,
// half a megabyte and a millisecond each, are not for it.
func TestTheRedirectFunctionIsLean(t *testing.T) {
	seen := make(map[string]bool)
	reach(t, "functions/redirect", seen)
	assert.True(t, seen[module+"/pkg/cluster"], "the imports of imports are seen")
	for path := range seen {
		assert.NotContains(t, path, "aws-sdk-go-v2/service/")
		assert.NotContains(t, path, "aws-sdk-go-v2/config")
	}
	all := make(map[string]bool)
	reach(t, "functions/heartbeat", all)
	assert.True(t, all["github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"], "and would be found")
}
