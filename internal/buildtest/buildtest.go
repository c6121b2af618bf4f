// Package buildtest builds the module's programs for tests, as they are built for
// Lambda but for this machine. They stay in the module's folder dist/test, and so
// each is compiled and linked once for all packages and runs, until what it is
// built from changes.
package buildtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/detourhq/detour/internal/locallambda"
)

// builds are those of this process: name → func() (path string, err error).
var builds sync.Map

// Program returns the path of the executable of one of the module's packages, such
// as "./cmd/detour". Any failure ends the test.
func Program(t testing.TB, pkg string) string {
	t.Helper()
	return Variant(t, pkg, pkg)
}

// Variant is Program with more flags of go build. The executable's name, which may
// have slashes, tells it from others of the same package. In one process a name
// stands for what it was built with first.
func Variant(t testing.TB, name, pkg string, flags ...string) string {
	t.Helper()
	once, _ := builds.LoadOrStore(name, sync.OnceValues(func() (string, error) {
		return build(t.Context(), name, pkg, flags)
	}))
	path, err := once.(func() (string, error))()
	if err != nil {
		t.Fatalf("buildtest: %v", err)
	}
	return path
}

// build has one process build at a time: others wait for what they would compile
// too.
func build(ctx context.Context, name, pkg string, flags []string) (string, error) {
	root, err := locallambda.FindModule(".")
	if err != nil {
		return "", err
	}
	if err := openSources(os.DirFS(root)); err != nil {
		return "", fmt.Errorf("open sources: %w", err)
	}
	dir := filepath.Join(root, "dist", "test")
	out, linked := filepath.Join(dir, name), filepath.Join(dir, ".linked", name)
	for _, file := range []string{out, linked} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return "", fmt.Errorf("make folder for %s: %w", name, err)
		}
	}
	unlock, err := lock(filepath.Join(dir, ".lock"))
	if err != nil {
		return "", fmt.Errorf("lock %s: %w", dir, err)
	}
	defer unlock()
	// Go does not link again what is up to date where it was written last.
	if err := locallambda.Build(ctx, root, pkg, linked, flags...); err != nil {
		return "", err
	}
	return out, publish(linked, out)
}

// publish makes out the same as linked. Whoever runs it meanwhile, in whichever
// process, gets the old one or the new one, and whole; go build may write a file
// while it runs.
func publish(linked, out string) error {
	program, err := os.ReadFile(linked)
	if err != nil {
		return fmt.Errorf("read program: %w", err)
	}
	if was, err := os.ReadFile(out); err == nil && bytes.Equal(was, program) {
		return nil
	}
	// A child that is forked here would hold the file open for writing, and until
	// then nobody could run it (golang/go#22315).
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	next := out + ".next"
	if err := os.WriteFile(next, program, 0o755); err != nil {
		return fmt.Errorf("write program: %w", err)
	}
	if err := os.Rename(next, out); err != nil {
		return fmt.Errorf("put program in place: %w", err)
	}
	return nil
}
