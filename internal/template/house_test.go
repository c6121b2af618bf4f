package template

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const templateFile = "template.yaml"

// house is template.yaml and what must agree with it.
type house struct {
	files map[string]string // path → text
	root  object            // template.yaml
}

// read returns the files as they stand.
func read(t *testing.T) map[string]string {
	t.Helper()
	files := make(map[string]string)
	for _, path := range []string{templateFile, "samconfig.toml", "Makefile", "VERSION", "docs/deploy.md", "docs/runbook.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", path))
		require.NoError(t, err)
		files[path] = string(text)
	}
	return files
}

// reader parses a template member by member and remembers each: the tests read it
// some hundred times with one of them changed.
type reader struct{ parsed sync.Map } // text → object

func (r *reader) build(files map[string]string) (house, error) {
	root, inner := object{}, object{}
	for _, text := range pieces(files[templateFile]) {
		one, err := r.parse(text)
		if err != nil {
			return house{}, err
		}
		into := inner
		if text[0] != ' ' {
			into, inner = root, object{}
		}
		for name, v := range one {
			if _, twice := into[name]; twice {
				return house{}, fmt.Errorf("%s is there twice", name)
			}
			if into[name] = v; v == nil {
				into[name] = inner
			}
		}
	}
	return house{files, root}, nil
}

// pieces cuts text where a member of the template, or of one of its sections,
// begins.
func pieces(text string) (all []string) {
	from, at := 0, 0
	for line := range strings.Lines(text) {
		name := strings.TrimPrefix(line, "  ")
		if c := name[0]; c >= 'A' && c <= 'Z' {
			if at > 0 {
				all = append(all, text[from:at])
			}
			from = at
		}
		at += len(line)
	}
	return append(all, text[from:])
}

func (r *reader) parse(text string) (object, error) {
	if o, ok := r.parsed.Load(text); ok {
		return o.(object), nil
	}
	o, err := parse(text)
	if err == nil {
		r.parsed.Store(text, o)
	}
	return o, err
}

// at returns what is in v at a path of member names and indices, or nil.
func at(v any, path ...any) any {
	for _, step := range path {
		switch s := step.(type) {
		case string:
			o, _ := v.(object)
			v = o[s]
		case int:
			list, _ := v.([]any)
			if s >= len(list) {
				return nil
			}
			v = list[s]
		}
	}
	return v
}

// members returns the names of a mapping, in order.
func members(v any) []string {
	o, _ := v.(object)
	return slices.Sorted(maps.Keys(o))
}

func (h house) parameters() object { return section(h, "Parameters") }
func (h house) resources() object  { return section(h, "Resources") }

func section(h house, name string) object {
	o, _ := h.root[name].(object)
	return o
}

// of returns the names of the resources of one type, in order.
func (h house) of(kind string) (names []string) {
	for _, name := range members(h.resources()) {
		if at(h.resources(), name, "Type") == kind {
			names = append(names, name)
		}
	}
	return names
}

// property returns what a resource's properties hold at a path.
func (h house) property(resource string, path ...any) any {
	return at(at(h.resources(), resource, "Properties"), path...)
}
