package arch

import (
	"strings"
	"testing"
)

// layers are the folders from top to bottom. A file imports from its own layer
// and from those below.
var layers = [][]string{
	{"functions", "cmd", "bench"},
	{"internal"},
	{"pkg/gate"},
	{"pkg/redirect"},
	{"pkg/selection"},
	{"pkg/cluster"},
	{"pkg/affinity"},
}

// layer returns the index of dir's layer, or -1.
func layer(dir string) int {
	for i, folders := range layers {
		if within(dir, folders...) {
			return i
		}
	}
	return -1
}

// importsRunOneWay lets tests reach up for the helpers in internal.
func importsRunOneWay(files []file) (broken []string) {
	for _, f := range files {
		from := layer(f.dir())
		if from < 0 {
			broken = append(broken, f.at(f.ast, "%s is in no layer", f.dir()))
			continue
		}
		for _, spec := range f.ast.Imports {
			dir, ours := strings.CutPrefix(imported(spec), module+"/")
			if !ours || f.test() && within(dir, "internal") {
				continue
			}
			if layer(dir) < from {
				broken = append(broken, f.at(spec, "%s imports %s, which is not below it", f.dir(), dir))
			}
		}
	}
	return broken
}

// onlyClusterSpeaksToRedis lets tests speak to it too, to look behind the
// registry.
func onlyClusterSpeaksToRedis(files []file) (broken []string) {
	for _, f := range files {
		if f.test() || f.in("pkg/cluster", "internal/redistest") {
			continue
		}
		for _, spec := range f.ast.Imports {
			if within(imported(spec), "github.com/redis") {
				broken = append(broken, f.at(spec, "%s imports go-redis", f.dir()))
			}
		}
	}
	return broken
}

// source returns a file of package p with these imports, from line 3 on.
func source(imports ...string) string {
	var b strings.Builder
	b.WriteString("package p\n")
	for _, path := range imports {
		b.WriteString("\nimport _ \"" + path + "\"")
	}
	return b.String()
}

func TestImportsRunOneWay(t *testing.T) {
	check(t, importsRunOneWay, []row{
		{"all the way down is fine", map[string]string{
			"functions/redirect/a.go":       source(module + "/internal/alb"),
			"cmd/detour/a.go":               source(module+"/pkg/gate", module+"/internal/alb"),
			"internal/alb/a.go":             source(module+"/pkg/gate", module+"/internal/other"),
			"pkg/gate/a.go":                 source(module + "/pkg/redirect"),
			"pkg/redirect/a.go":             source(module+"/pkg/selection", module+"/pkg/cluster"),
			"pkg/selection/a.go":            source(module + "/pkg/cluster"),
			"pkg/cluster/a.go":              source("net", "github.com/redis/go-redis/v9", module+"/pkg/cluster/static"),
			"pkg/cluster/static/a.go":       source(module + "/pkg/cluster"),
			"pkg/cluster/static/up_test.go": source(module + "/internal/redistest"),
		}, nil},
		{"each step up is found", map[string]string{
			"internal/alb/a.go":       source(module + "/cmd/detour"),
			"pkg/gate/a.go":           source(module + "/internal/alb"),
			"pkg/redirect/a.go":       source(module + "/pkg/gate"),
			"pkg/selection/a.go":      source("strings", module+"/pkg/redirect"),
			"pkg/cluster/static/a.go": source(module + "/pkg/selection"),
			"pkg/cluster/a_test.go":   source(module + "/pkg/selection"),
		}, []string{
			"internal/alb/a.go:3: internal/alb imports cmd/detour, which is not below it",
			"pkg/gate/a.go:3: pkg/gate imports internal/alb, which is not below it",
			"pkg/redirect/a.go:3: pkg/redirect imports pkg/gate, which is not below it",
			"pkg/selection/a.go:4: pkg/selection imports pkg/redirect, which is not below it",
			"pkg/cluster/static/a.go:3: pkg/cluster/static imports pkg/selection, which is not below it",
			"pkg/cluster/a_test.go:3: pkg/cluster imports pkg/selection, which is not below it",
		}},
		{"a folder without a layer is found", map[string]string{
			"pkg/clusters/a.go": source(),
			"pkg/gate/a.go":     source(module + "/pkg/clusters"),
		}, []string{
			"pkg/clusters/a.go:1: pkg/clusters is in no layer",
			"pkg/gate/a.go:3: pkg/gate imports pkg/clusters, which is not below it",
		}},
	})
}

func TestOnlyClusterSpeaksToRedis(t *testing.T) {
	const redis = "github.com/redis/go-redis/v9"
	check(t, onlyClusterSpeaksToRedis, []row{
		{"the registry, its sources, the test server and tests may", map[string]string{
			"pkg/cluster/a.go":          source(redis),
			"pkg/cluster/aspectow/a.go": source(redis),
			"internal/redistest/a.go":   source(redis),
			"cmd/detour/a_test.go":      source(redis),
		}, nil},
		{"nobody else may", map[string]string{
			"cmd/detour/a.go":     source(redis),
			"pkg/clustered/a.go":  source(redis + "/maintnotifications"),
			"pkg/selection/ok.go": source("github.com/redistribute/x"),
		}, []string{
			"cmd/detour/a.go:3: cmd/detour imports go-redis",
			"pkg/clustered/a.go:3: pkg/clustered imports go-redis",
		}},
	})
}
