package buildtest

import (
	"io/fs"
	"strings"
)

// openSources opens what the module's programs are built from. The test cache
// knows only the files that a test itself opens, not those that the compiler reads
// for it, and would go on reporting an old success.
func openSources(module fs.FS) error {
	for _, at := range []string{"go.mod", "go.sum", "cmd", "functions", "internal", "pkg"} {
		err := fs.WalkDir(module, at, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := module.Open(path)
			if err != nil {
				return err
			}
			return f.Close()
		})
		if err != nil {
			return err
		}
	}
	return nil
}
