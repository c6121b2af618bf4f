//go:build unix

package entry_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/buildtest"
	"github.com/detourhq/detour/internal/child"
	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/pkg/cluster"
)

// patience bounds every wait of these tests.
const patience = 30 * time.Second

// run is one run of the binary, as a rule with the application.
type run struct {
	t    *testing.T
	cmd  *exec.Cmd
	url  string // of the application
	over chan struct{}

	mu    sync.Mutex // guards the following
	lines []string   // standard output, which is the application's
	log   strings.Builder
}

// app is the application's command.
func app(t *testing.T) []string {
	t.Helper()
	return []string{"--", buildtest.Program(t, "./internal/entry/testdata/app")}
}

// start starts "detour agent" for node n1 on the registry at url. Environment are
// NAME=VALUE, args more flags and the command.
func start(t *testing.T, url string, environment []string, args ...string) *run {
	t.Helper()
	r := &run{t: t, over: make(chan struct{})}
	flags := []string{
		"agent", "--redis", url, "--id", "n1", "--group", "blue", "--endpoint", "http://n1.example.com",
		"--target", "none", "--pulse-every", "200ms", "--grace", "100ms", "--quiet", "300ms",
	}
	r.cmd = exec.CommandContext(context.Background(), buildtest.Program(t, "./cmd/detour"), append(flags, args...)...)
	r.cmd.Env = append(os.Environ(), environment...)
	out, in, err := os.Pipe()
	require.NoError(t, err)
	r.cmd.Stdout, r.cmd.Stderr = in, writer(func(p []byte) { r.locked(func() { r.log.Write(p) }) })
	starter := child.NewStarter()
	require.NoError(t, starter.Start(r.cmd))
	in.Close()
	var reading sync.WaitGroup
	reading.Go(func() { r.read(out) })
	go func() {
		_ = r.cmd.Wait()
		close(r.over)
	}()
	t.Cleanup(func() {
		_ = child.Kill(r.cmd.Process)
		<-r.over
		starter.Close()
		reading.Wait()
		if t.Failed() {
			t.Logf("output:\n%s\nlog:\n%s", strings.Join(r.lines, "\n"), r.log.String())
		}
	})
	if slices.Contains(args, "--") && strings.HasSuffix(args[len(args)-1], "app") {
		r.url = "http://" + strings.TrimPrefix(r.await("listening "), "listening ")
	}
	return r
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

func (r *run) locked(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

func (r *run) read(out *os.File) {
	defer out.Close()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		r.locked(func() { r.lines = append(r.lines, lines.Text()) })
	}
}

// says returns the application's first line that begins so, "" if there is none yet.
func (r *run) says(beginning string) (line string) {
	r.locked(func() {
		if i := slices.IndexFunc(r.lines, func(l string) bool { return strings.HasPrefix(l, beginning) }); i >= 0 {
			line = r.lines[i]
		}
	})
	return line
}

// await waits for such a line.
func (r *run) await(beginning string) string {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return r.says(beginning) != "" }, patience, 5*time.Millisecond, "the application never says %q", beginning)
	return r.says(beginning)
}

// logged waits for a line of the agent's own log.
func (r *run) logged(part string) {
	r.t.Helper()
	require.Eventually(r.t, func() (found bool) {
		r.locked(func() { found = strings.Contains(r.log.String(), part) })
		return found
	}, patience, 5*time.Millisecond, "the agent never logs %q", part)
}

func (r *run) signal(s syscall.Signal) {
	r.t.Helper()
	require.NoError(r.t, r.cmd.Process.Signal(s))
}

// tell has the application do what path says; it may end of it.
func (r *run) tell(path string) string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+path, nil)
	require.NoError(r.t, err)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return string(body)
}

// code waits until the agent has ended, and returns its exit code.
func (r *run) code() int {
	r.t.Helper()
	select {
	case <-r.over:
		return r.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		require.Fail(r.t, "the agent does not end")
		return 0
	}
}

// lives reports whether the agent has not ended.
func (r *run) lives() bool {
	select {
	case <-r.over:
		return false
	default:
		return true
	}
}

// open returns a registry on a server of the test's own.
func open(t *testing.T) (*cluster.Registry, *redistest.Server) {
	t.Helper()
	server := redistest.Start(t)
	client, err := cluster.Dial(server.URL, 2*time.Second)
	require.NoError(t, err)
	r, err := cluster.NewRegistry(client, "default")
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r, server
}

// reports returns what n1 reports, empty if it is not registered.
func reports(t *testing.T, r *cluster.Registry) cluster.Status {
	t.Helper()
	s, err := r.Snapshot(t.Context(), time.Now)
	if err != nil {
		return ""
	}
	n, _ := s.Node("n1")
	if n == nil {
		return ""
	}
	return n.Report.Status
}

// awaitReport waits until n1 reports so; empty until it has left.
func awaitReport(t *testing.T, r *cluster.Registry, want cluster.Status) {
	t.Helper()
	require.Eventually(t, func() bool { return reports(t, r) == want }, patience, 5*time.Millisecond, "n1 never is %q", want)
}

// events returns what happened to n1, "kind reason" each.
func events(t *testing.T, server *redistest.Server) (all []string) {
	t.Helper()
	raw, err := cluster.Dial(server.URL, 2*time.Second)
	require.NoError(t, err)
	defer raw.Close()
	entries, err := raw.XRange(t.Context(), "{detour:default}:events", "-", "+").Result()
	require.NoError(t, err)
	for _, e := range entries {
		if e.Values["target"] == "node:n1" {
			all = append(all, strings.TrimSpace(fmt.Sprint(e.Values["kind"], " ", e.Values["reason"])))
		}
	}
	return all
}
