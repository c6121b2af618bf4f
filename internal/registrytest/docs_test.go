package registrytest_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func readDocs(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("../../docs/registry.md")
	require.NoError(t, err)
	return string(raw)
}

func TestTheDocsNameEveryScriptAndNoOther(t *testing.T) {
	docs := readDocs(t)
	entries, err := os.ReadDir("../../pkg/cluster/lua")
	require.NoError(t, err)
	rows := 0
	for line := range strings.Lines(docs) {
		if strings.HasPrefix(line, "| `") && strings.Contains(line, ".lua` |") {
			rows++
		}
	}
	for _, e := range entries {
		if e.Name() != "common.lua" {
			assert.Contains(t, docs, "\n| `"+e.Name()+"` | ", "a row of what it takes and answers")
		}
	}
	assert.Equal(t, len(entries)-1, rows)
}

func TestTheDocsNameEveryMemberOfARecord(t *testing.T) {
	docs := readDocs(t)
	for record, example := range map[string]any{
		"descriptor": cluster.Descriptor{}, "report": cluster.Report{}, "figures": cluster.Figures{},
		"pause": cluster.Pause{}, "group": cluster.Group{}, " group": cluster.Affinity{},
	} {
		_, row, found := strings.Cut(docs, "\n| "+strings.TrimSpace(record)+" | ")
		require.True(t, found, record)
		row, _, _ = strings.Cut(row, "\n")
		for f := range reflect.TypeOf(example).Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			assert.Contains(t, row, "`"+name+"`", record)
		}
	}
}
