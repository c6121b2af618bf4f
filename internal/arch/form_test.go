package arch

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

const (
	fileLimit     = 300 // lines
	functionLimit = 50  // lines from func to the closing brace, both included
)

// everyPackageIsDescribed wants the package comment in exactly one file of each
// folder.
func everyPackageIsDescribed(files []file) (broken []string) {
	described := map[string][]string{} // folder → files with a package comment
	for _, f := range files {
		if strings.HasSuffix(f.ast.Name.Name, "_test") {
			continue
		}
		found := described[f.dir()]
		if f.ast.Doc != nil {
			found = append(found, f.path)
		}
		described[f.dir()] = found
	}
	for _, dir := range slices.Sorted(maps.Keys(described)) {
		switch found := described[dir]; len(found) {
		case 0:
			broken = append(broken, dir+": no package comment")
		case 1:
		default:
			broken = append(broken, dir+": package comment in "+strings.Join(found, " and "))
		}
	}
	return broken
}

// filesAndFunctionsAreSmall measures all but generated files. The rows of a
// test's tables are data and do not count as lines of the test.
func filesAndFunctionsAreSmall(files []file) (broken []string) {
	for _, f := range files {
		if ast.IsGenerated(f.ast) {
			continue
		}
		if n := f.set.File(f.ast.Pos()).LineCount(); n > fileLimit {
			broken = append(broken, f.at(f.ast, "file of %d lines, more than %d", n, fileLimit))
		}
		for _, decl := range f.ast.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := f.lines(fn.Type.Pos(), fn.End())
			if f.test() {
				n -= f.tables(fn)
			}
			if n > functionLimit {
				broken = append(broken, f.at(fn.Type, "%s has %d lines, more than %d", fn.Name.Name, n, functionLimit))
			}
		}
	}
	return broken
}

func (f file) lines(from, to token.Pos) int {
	return f.set.Position(to).Line - f.set.Position(from).Line + 1
}

// tables returns the lines between the first and the last one of each composite
// literal in fn.
func (f file) tables(fn *ast.FuncDecl) (sum int) {
	ast.Inspect(fn, func(n ast.Node) bool {
		table, ok := n.(*ast.CompositeLit)
		if ok {
			sum += max(0, f.lines(table.Lbrace, table.Rbrace)-2)
		}
		return !ok
	})
	return sum
}

// onlyAMainExits allows os.Exit and its like in main.go alone, and once only
// in a Lambda function. Tests may exit where they stand in for a program.
func onlyAMainExits(files []file) (broken []string) {
	seen := map[string]bool{} // folders of functions that have exited
	for _, f := range files {
		if f.test() {
			continue
		}
		for _, exit := range exits(f) {
			switch {
			case f.ast.Name.Name != "main" || !strings.HasSuffix(f.path, "/main.go"):
				broken = append(broken, f.at(exit, "exits, but is no main.go"))
			case f.in("functions") && seen[f.dir()]:
				broken = append(broken, f.at(exit, "exits a second time"))
			}
			seen[f.dir()] = true
		}
	}
	return broken
}

// exits returns each mention of a function that ends the process.
func exits(f file) []*ast.SelectorExpr {
	return slices.DeleteFunc(slices.Concat(f.uses("os"), f.uses("syscall"), f.uses("log")), func(s *ast.SelectorExpr) bool {
		return s.Sel.Name != "Exit" && !strings.HasPrefix(s.Sel.Name, "Fatal")
	})
}

func TestEveryPackageIsDescribed(t *testing.T) {
	check(t, everyPackageIsDescribed, []row{
		{"once is right", map[string]string{
			"a/doc.go":    "// Package a is one.\npackage a",
			"a/a.go":      "// A comment apart.\n\npackage a",
			"a/a_test.go": "// About these tests.\npackage a_test",
		}, nil},
		{"never is not", map[string]string{"a/a.go": "package a"}, []string{"a: no package comment"}},
		{"twice is not", map[string]string{
			"a/a.go": "// Package a is one.\npackage a",
			"a/b.go": "// Package a is two.\npackage a",
		}, []string{"a: package comment in a/a.go and a/b.go"}},
	})
}

// lines returns a function f of n lines, from line 3 of a file on.
func lines(n int) string {
	return "package p\n\nfunc f() {" + strings.Repeat("\n", n-1) + "}\n"
}

// tested returns a function f of n+3 lines and a table's 100 rows.
func tested(n int) string {
	return "package p\n\nfunc f() {" + strings.Repeat("\n", n) + "_ = []int{" + strings.Repeat("\n1,", 100) + "\n}\n}\n"
}

func TestFilesAndFunctionsAreSmall(t *testing.T) {
	long := "package p\n" + strings.Repeat("\n", 298)
	check(t, filesAndFunctionsAreSmall, []row{
		{"a function of 50 lines passes", map[string]string{"a/a.go": lines(50)}, nil},
		{"one of 51 does not", map[string]string{"a/a_test.go": lines(51)}, []string{"a/a_test.go:3: f has 51 lines, more than 50"}},
		{"a test's table does not count", map[string]string{"a/a_test.go": tested(47)}, nil},
		{"but the lines around it do", map[string]string{"a/a_test.go": tested(48)}, []string{"a/a_test.go:3: f has 51 lines, more than 50"}},
		{"and so does a table outside tests", map[string]string{"a/a.go": tested(1)}, []string{"a/a.go:3: f has 104 lines, more than 50"}},
		{"a file of 300 lines passes", map[string]string{"a/a.go": long + "var a int\n"}, nil},
		{"one of 301 does not", map[string]string{"a/a.go": long + "\nvar a int\n"}, []string{"a/a.go:1: file of 301 lines, more than 300"}},
		{"generated code is not measured", map[string]string{"a/a.go": "// Code generated by x. DO NOT EDIT.\n" + lines(400)}, nil},
	})
}

func TestOnlyAMainExits(t *testing.T) {
	const once = "package main\n\nimport \"os\"\n\nfunc main() { os.Exit(1) }\n"
	check(t, onlyAMainExits, []row{
		{"a main may, and tests", map[string]string{
			"cmd/detour/main.go":         once + "\nfunc f() { os.Exit(2) }\n",
			"functions/redirect/main.go": once,
			"functions/sweep/main.go":    once,
			"pkg/gate/a_test.go":         once,
		}, nil},
		{"a function exits once", map[string]string{
			"functions/redirect/main.go": once + "\nfunc f() { os.Exit(2) }\n",
		}, []string{"functions/redirect/main.go:7: exits a second time"}},
		{"no other file may, by whatever name", map[string]string{
			"cmd/detour/run.go": once,
			"pkg/gate/main.go":  "package gate\n\nimport l \"log\"\n\nvar f = l.Fatalf\n",
		}, []string{
			"cmd/detour/run.go:5: exits, but is no main.go",
			"pkg/gate/main.go:5: exits, but is no main.go",
		}},
	})
}
