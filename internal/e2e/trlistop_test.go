package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/buildtest"
	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/pkg/cluster"
)

// What is behind the applications is replaced while clients go on. Those who operate
// wait until nothing is in flight, and so no client sees more of it than a wait. That
// is what the service that this gate is modelled on was made for.
func TestADatabaseIsReplacedAndClientsOnlyWait(t *testing.T) {
	t.Parallel() // it mostly waits
	o := newOffice(t)
	for _, row := range []struct {
		name  string
		wait  []string
		loses bool
	}{
		{"when what is in flight has ended", []string{"--wait", "--quiet", "500ms"}, false},
		{"but not when nobody waits for that", nil, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			clients := o.let(t)
			o.served(2 * time.Second)
			paused := time.Now()
			o.operate(t, append([]string{"pause", "node:n1", "--mode", "hold"}, row.wait...)...)
			away := o.database.replace()
			o.operate(t, "resume", "node:n1")
			o.served(2 * time.Second)
			clients.stop()

			t.Logf("the pause took hold after %s; %d requests, %d failed",
				away.from.Sub(paused).Round(time.Millisecond), len(clients.requests), len(clients.failed))
			for name, w := range o.workers {
				ran := w.runs()
				assert.True(t, slices.ContainsFunc(ran, stretch{paused, paused}.meets), "%s had requests in flight at the pause", name)
				assert.Equal(t, row.loses, slices.ContainsFunc(ran, away.meets), "%s ran requests while there was no database", name)
			}
			if row.loses {
				assert.NotEmpty(t, clients.failed)
			} else {
				assert.Empty(t, clients.failed)
				assert.True(t, slices.ContainsFunc(clients.requests, away.within), "clients have waited for all that time")
			}
		})
	}
}

// office is a node whose applications share a gate and a database.
type office struct {
	t        *testing.T
	url      string // of the registry
	database *database
	workers  map[string]*worker // by language
}

// worker is an application.
type worker struct {
	*process
	url string
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{t: t, url: redistest.Start(t).URL, database: startDatabase(t)}
	path := filepath.Join(t.TempDir(), "gate")
	start(t, nil, buildtest.Program(t, "./cmd/detour"), "agent", "--redis", o.url, "--cluster", clusterName, "--target", "none",
		"--id", "n1", "--group", "office", "--endpoint", "http://n1.example.com", "--gate", path)
	eventually(t, openRegistry(t, o.url), func(s *cluster.Snapshot) bool { return len(s.Nodes) == 1 })
	o.workers = map[string]*worker{
		"Go":     {process: start(t, nil, buildtest.Program(t, "./internal/e2e/testdata/worker"), path, o.database.address)},
		"Python": {process: start(t, documented(t), look(t, "python3"), "testdata/worker/worker.py", path, o.database.address)},
	}
	for _, w := range o.workers {
		w.url = "http://" + w.await("listening")
	}
	return o
}

// documented returns the environment in which Python's module gate is what docs/gate.md
// tells to use.
func documented(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs/gate.md"))
	require.NoError(t, err)
	text := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(page)
	require.NotNil(t, text, "the page shows no Python")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "gate.py"), text[1], 0o600))
	return []string{"PYTHONPATH=" + dir, "PYTHONDONTWRITEBYTECODE=1"}
}

// runs returns when each request that has ended ran.
func (w *worker) runs() (all []stretch) {
	for _, line := range w.lines("ran") {
		from, to, _ := strings.Cut(line, " ")
		all = append(all, stretch{instant(w.t, from), instant(w.t, to)})
	}
	return all
}

// served waits until each worker has run a request that began after now, and lets
// at least d pass.
func (o *office) served(d time.Duration) {
	o.t.Helper()
	began := time.Now()
	require.Eventually(o.t, func() bool {
		for _, w := range o.workers {
			if !slices.ContainsFunc(w.runs(), func(ran stretch) bool { return ran.from.After(began) }) {
				return false
			}
		}
		return time.Since(began) >= d
	}, patience, 20*time.Millisecond)
}

// operate runs the CLI.
func (o *office) operate(t *testing.T, args ...string) {
	t.Helper()
	assert.Equal(t, 0, start(t, nil, buildtest.Program(t, "./cmd/detour"), append(args, "--redis", o.url, "--cluster", clusterName)...).code())
}

// visitors is a load of few clients, each of which sends its next request when it has
// the answer.
type visitors struct {
	enough  chan struct{} // closed when nobody is to send any more
	sending sync.WaitGroup

	mu       sync.Mutex // guards the following
	requests []stretch  // from sending one to the end of its answer
	failed   []error
}

// perWorker is how many clients a worker has. Each fourth of their requests lasts as
// long as five questions to the database.
const perWorker = 4

// let lets clients in.
func (o *office) let(t *testing.T) *visitors {
	c := &visitors{enough: make(chan struct{})}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: perWorker}, Timeout: patience}
	for _, w := range o.workers {
		for i := range perWorker {
			c.sending.Go(func() { c.send(client, w.url, i) })
		}
	}
	t.Cleanup(c.stop)
	return c
}

func (c *visitors) send(client *http.Client, url string, from int) {
	for i := from; ; i++ {
		select {
		case <-c.enough:
			return
		case <-time.After(10 * time.Millisecond): // to read the page
		}
		times := 1
		if i%4 == 0 {
			times = 5
		}
		path := fmt.Sprintf("/%d/%d", times, i)
		began := time.Now()
		err := fetch(context.Background(), client, url+path, func(body string) bool { return isWhole(body, path, times) })
		c.mu.Lock()
		c.requests = append(c.requests, stretch{began, time.Now()})
		if err != nil {
			c.failed = append(c.failed, err)
		}
		c.mu.Unlock()
	}
}

// isWhole reports whether body is the answer for path: so many answers of one
// version of the database.
func isWhole(body, path string, times int) bool {
	rest, ok := strings.CutPrefix(body, path)
	if !ok || len(rest) != 2*times {
		return false
	}
	return rest == strings.Repeat(rest[:2], times)
}

// stop returns when all clients have their last answer.
func (c *visitors) stop() {
	select {
	case <-c.enough:
	default:
		close(c.enough)
	}
	c.sending.Wait()
}
