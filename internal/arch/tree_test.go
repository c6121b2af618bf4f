package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// module is the path that all our imports begin with.
const module = "github.com/detourhq/detour"

// file is one parsed Go file of the module.
type file struct {
	path string // from the module's root, with slashes
	set  *token.FileSet
	ast  *ast.File
}

// rule returns what breaks it, one "path:line: reason" each.
type rule func([]file) []string

// parse reads every Go file of the module at the root of fsys, except for what
// the go tool passes over too (folders called testdata, hidden ones and other
// modules) and dist, where builds go.
func parse(fsys fs.FS) ([]file, error) {
	var files []file
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipped(fsys, name):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		source, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, name, source, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, file{name, set, parsed})
		return nil
	})
	return files, err
}

func skipped(fsys fs.FS, dir string) bool {
	if dir == "." {
		return false
	}
	base := path.Base(dir)
	if base == "testdata" || dir == "dist" || strings.HasPrefix(base, ".") {
		return true
	}
	_, err := fs.Stat(fsys, path.Join(dir, "go.mod"))
	return err == nil
}

func (f file) dir() string { return path.Dir(f.path) }

func (f file) test() bool { return strings.HasSuffix(f.path, "_test.go") }

// in tells whether f lies in one of the folders or below.
func (f file) in(folders ...string) bool { return within(f.dir(), folders...) }

func within(dir string, folders ...string) bool {
	for _, folder := range folders {
		if dir == folder || strings.HasPrefix(dir, folder+"/") {
			return true
		}
	}
	return false
}

// at returns a violation at node.
func (f file) at(node ast.Node, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: ", f.path, f.set.Position(node.Pos()).Line) + fmt.Sprintf(format, args...)
}

// imported returns the path of an import.
func imported(spec *ast.ImportSpec) string {
	name, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value // cannot be: the parser has read it
	}
	return name
}

// uses returns each mention of a name of the package pkg, as in os.Exit. The
// package is known by its last element, or the one before a version, unless
// the import says otherwise.
func (f file) uses(pkg string) []*ast.SelectorExpr {
	local := ""
	for _, spec := range f.ast.Imports {
		if imported(spec) != pkg {
			continue
		}
		local = path.Base(strings.TrimSuffix(pkg, "/v2"))
		if spec.Name != nil {
			local = spec.Name.Name
		}
	}
	var found []*ast.SelectorExpr
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && local != "" && x.Name == local {
				found = append(found, s)
			}
		}
		return true
	})
	return found
}
