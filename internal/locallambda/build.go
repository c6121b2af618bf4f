package locallambda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Build compiles the function package pkg, an import path or "./folder", of
// the module around dir, the way it is built for Lambda but for this machine,
// and writes the executable to the file out. Flags are more of go build's. It
// needs the go tool and the module's source; the error says which is missing, or
// what the compiler said.
func Build(ctx context.Context, dir, pkg, out string, flags ...string) error {
	tool, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("build %s: the go tool is needed and not on PATH: %w", pkg, err)
	}
	if _, err := FindModule(dir); err != nil {
		return fmt.Errorf("build %s: %w", pkg, err)
	}
	if out, err = filepath.Abs(out); err != nil {
		return fmt.Errorf("build %s: %w", pkg, err)
	}
	args := []string{"build", "-tags", "lambda.norpc", "-trimpath", "-ldflags", "-s -w", "-o", out}
	cmd := exec.CommandContext(ctx, tool, append(append(args, flags...), pkg)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, strings.TrimSpace(string(said)))
	}
	return nil
}

// FindModule returns the folder, dir or the nearest above it, that has a go.mod.
// Where none has, the error is fs.ErrNotExist.
func FindModule(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find module source: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		_, err := os.Stat(filepath.Join(at, "go.mod"))
		if err == nil {
			return at, nil
		}
		if !errors.Is(err, os.ErrNotExist) || at == filepath.Dir(at) {
			return "", fmt.Errorf("the module's source is needed and there is no go.mod in or above %s: %w", dir, err)
		}
	}
}
