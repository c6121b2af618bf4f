package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/locallambda"
)

// texts are Go files of the module, by path, that stand in for its own in a
// build, or come in addition.
type texts map[string]string

// edit puts one passage in place of another throughout a file. If the file does
// not hold it, the test ends: the passage has to be looked for anew, or the test
// would try nothing.
func (changed texts) edit(t *testing.T, file, passage, instead string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	require.NoError(t, err)
	require.Contains(t, string(text), passage, "%s no longer holds this passage", file)
	changed[file] = strings.ReplaceAll(string(text), passage, instead)
}

// build builds the package as it is built for Lambda, but with the changed texts,
// in a folder called name that outlives the test, and returns the executable's
// path.
func (changed texts) build(t *testing.T, pkg, name string) string {
	t.Helper()
	require.NoError(t, openSources(sources...))
	dir := filepath.Join(workshop, name)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	replace := map[string]string{}
	for file, text := range changed {
		original, err := filepath.Abs(filepath.Join(root, file))
		require.NoError(t, err)
		replace[original] = filepath.Join(dir, strconv.Itoa(len(replace))+".go")
		require.NoError(t, os.WriteFile(replace[original], []byte(text), 0o600))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	list := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(list, overlay, 0o600))

	t.Setenv("GOFLAGS", strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+list))
	out := filepath.Join(dir, "program")
	require.NoError(t, locallambda.Build(t.Context(), root, pkg, out))
	return out
}

// Environment variables of a program that was bent.
const (
	bentTrust = "BENT_TRUST" // for so long the registry's epoch is not asked again; default never
	bentIdle  = "BENT_IDLE"  // how long an idle connection is kept; default one minute
	bentWall  = "BENT_WALL"  // by how much the wall clock is wrong; default not at all
)

// bent is the redirect function, built once, with what its environment changes
// in it. Without a change it is as shipped.
var bent string

func bentFunction(t *testing.T) string {
	t.Helper()
	if bent != "" {
		return bent
	}
	changed := texts{"pkg/cluster/bent.go": `package cluster

import (
	"os"
	"time"
)

var maxIdleTime = bent("` + bentIdle + `", time.Minute)

func bent(name string, otherwise time.Duration) time.Duration {
	if d, err := time.ParseDuration(os.Getenv(name)); err == nil {
		return d
	}
	return otherwise
}
`}
	const asks = "\tepoch, err := c.registry.Epoch(ctx, counts)\n"
	const trusts = "\tif age := c.age(c.asked); age >= 0 && age < bent(\"" + bentTrust + "\", 0) {\n\t\treturn last, nil\n\t}\n"
	changed.edit(t, "pkg/cluster/cache.go", asks, trusts+asks)
	changed.edit(t, "pkg/cluster/client.go", "\tmaxIdleTime = time.Minute\n", "")
	changed.skew(t, "functions/redirect/main.go")
	bent = changed.build(t, "./functions/redirect", "bent-redirect")
	return bent
}

// skew bends the wall clock that a file of the module's reads.
func (changed texts) skew(t *testing.T, file string) {
	t.Helper()
	const clock = "bentNow"
	changed.edit(t, file, "time.Now", clock)
	pkg, _, _ := strings.Cut(changed[file][strings.Index(changed[file], "\npackage ")+len("\npackage "):], "\n")
	changed[file] += "\nvar _ time.Time // so that the import is used\n"
	changed[filepath.Join(filepath.Dir(file), "bentnow.go")] = `package ` + pkg + `

import (
	"os"
	"time"
)

func bentNow() time.Time {
	d, _ := time.ParseDuration(os.Getenv("` + bentWall + `"))
	return time.Now().Add(d)
}
`
}
