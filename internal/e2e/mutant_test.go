package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// Environment variables of a program that was bent.
const (
	bentTrust = "BENT_TRUST" // for so long the registry's epoch is not asked again; default never
	bentIdle  = "BENT_IDLE"  // how long an idle connection is kept; default one minute
	bentWall  = "BENT_WALL"  // by how much the wall clock is wrong; default not at all
)

// bentFunction builds the redirect function with what its environment changes in
// it. Without a change it is as shipped.
func bentFunction(t *testing.T) string {
	t.Helper()
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
	return changed.build(t, "./functions/redirect", "bent-redirect")
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
