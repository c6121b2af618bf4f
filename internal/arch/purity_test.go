package arch

import (
	"slices"
	"strings"
	"testing"
)

// pure are the packages whose answers depend on their arguments alone.
var pure = []string{"pkg/redirect", "pkg/selection", "pkg/affinity"}

// impure are packages, with all below them, that have no place in pure ones.
var impure = []string{
	"context", "crypto/rand", "database", "github.com/redis", "io/ioutil", "log", "math/rand", "net/rpc", "os", "syscall",
}

// namesAllowed tells which names of a package are pure. It goes before impure.
var namesAllowed = map[string]func(name string) bool{
	// Times and durations are values; what reads a clock or waits is not.
	"time": func(name string) bool {
		return !slices.Contains([]string{
			"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer",
		}, name)
	},
	// A generator comes as an argument; the global one is not ours to use.
	"math/rand/v2": func(name string) bool {
		return strings.HasPrefix(name, "New") ||
			slices.Contains([]string{"Rand", "Source", "PCG", "ChaCha8", "Zipf"}, name)
	},
	// The numbers and names of HTTP, but neither its client nor its server.
	"net/http": func(name string) bool {
		return strings.HasPrefix(name, "Status") || strings.HasPrefix(name, "Method")
	},
}

// purePackagesArePure finds what reads a clock, does I/O or throws dice. Their
// tests may do all that.
func purePackagesArePure(files []file) (broken []string) {
	for _, f := range files {
		if f.test() || !f.in(pure...) {
			continue
		}
		for _, spec := range f.ast.Imports {
			path := imported(spec)
			_, partly := namesAllowed[path]
			switch {
			case path == "net", within(path, impure...) && !partly:
				broken = append(broken, f.at(spec, "%s is pure and imports %s", f.dir(), path))
			case partly && spec.Name != nil && spec.Name.Name == ".":
				broken = append(broken, f.at(spec, "%s is pure and hides what it uses of %s", f.dir(), path))
			}
		}
		for path, allowed := range namesAllowed {
			for _, use := range f.uses(path) {
				if !allowed(use.Sel.Name) {
					broken = append(broken, f.at(use, "%s is pure and uses %s.%s", f.dir(), path, use.Sel.Name))
				}
			}
		}
	}
	return broken
}

func TestPurePackagesArePure(t *testing.T) {
	check(t, purePackagesArePure, []row{
		{"values are fine", map[string]string{"pkg/selection/a.go": `package selection

import (
	"math/rand/v2"
	"net/http"
	"net/netip"
	"time"
)

func f(now time.Time, r *rand.Rand) any { return now.Add(time.Second).Unix() + r.Int64() + http.StatusOK }

var _ = rand.New(rand.NewPCG(1, 2))
var _ netip.Addr
`}, nil},
		{"clocks, dice and clients are not", map[string]string{"pkg/redirect/a.go": `package redirect

import (
	"math/rand/v2"
	"net/http"
	clock "time"
)

var a = clock.Now()
var b = clock.Since
var c = rand.IntN(2)
var d http.Client
var e = clock.After
`}, []string{
			"pkg/redirect/a.go:9: pkg/redirect is pure and uses time.Now",
			"pkg/redirect/a.go:10: pkg/redirect is pure and uses time.Since",
			"pkg/redirect/a.go:11: pkg/redirect is pure and uses math/rand/v2.IntN",
			"pkg/redirect/a.go:12: pkg/redirect is pure and uses net/http.Client",
			"pkg/redirect/a.go:13: pkg/redirect is pure and uses time.After",
		}},
		{"neither is I/O", map[string]string{
			"pkg/selection/deep/a.go": source("os", "os/exec", "net", "log/slog", "math/rand", "context", "strings"),
		}, []string{
			"pkg/selection/deep/a.go:3: pkg/selection/deep is pure and imports os",
			"pkg/selection/deep/a.go:4: pkg/selection/deep is pure and imports os/exec",
			"pkg/selection/deep/a.go:5: pkg/selection/deep is pure and imports net",
			"pkg/selection/deep/a.go:6: pkg/selection/deep is pure and imports log/slog",
			"pkg/selection/deep/a.go:7: pkg/selection/deep is pure and imports math/rand",
			"pkg/selection/deep/a.go:8: pkg/selection/deep is pure and imports context",
		}},
		{"a dot hides nothing", map[string]string{
			"pkg/selection/a.go": "package selection\n\nimport . \"time\"\n\nvar a = Now()\n",
		}, []string{"pkg/selection/a.go:3: pkg/selection is pure and hides what it uses of time"}},
		{"tests and other packages are free", map[string]string{
			"pkg/selection/a_test.go": source("os", "net"),
			"pkg/cluster/a.go":        source("os", "net"),
		}, nil},
	})
}
