package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// agentRun starts "detour agent" for node n1 until the test ends, and returns what
// ends it, in order, and gives its exit code.
func agentRun(t *testing.T, environment map[string]string, args ...string) (end func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	var all sync.WaitGroup
	all.Go(func() {
		var out, errs bytes.Buffer
		a := &app{environment: environment, stdout: &out, stderr: &errs}
		flags := []string{"agent", "--id", "n1", "--group", "blue", "--endpoint", "https://n1.example.com", "--pulse-every", "50ms", "--grace", "10ms"}
		code <- a.run(ctx, append(flags, args...))
	})
	t.Cleanup(all.Wait)
	t.Cleanup(cancel)
	return func() int {
		cancel()
		return <-code
	}
}

// node waits for the node called n1 with that status, and returns it.
func node(t *testing.T, r *cluster.Registry, status cluster.Status) cluster.Node {
	t.Helper()
	require.Eventually(t, func() bool { return statusOf(t, r) == status }, 10*time.Second, 5*time.Millisecond, "n1 never is %q", status)
	s, err := r.Snapshot(t.Context(), time.Now)
	require.NoError(t, err)
	n, _ := s.Node("n1")
	return *n
}

func TestAnAgentsFaultyFlags(t *testing.T) {
	_, url := registry(t)
	node := []string{"agent", "--id", "n1", "--group", "blue", "--endpoint", "https://n1.example.com"}
	for _, row := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"a command without its --", append(node, "java"), usage, `does not take "java" before a command`},
		{"something before the --", append(node, "java", "--", "java"), usage, `does not take "java" before a command`},
		{"nothing after the --", append(node, "--"), usage, "no command after --"},
		{"an empty command", append(node, "--", ""), usage, "no command after --"},
		{"a grace less than nothing", append(node, "--grace", "-1s"), usage, "--grace is -1s"},
		{"a URL that cannot be asked", append(node, "--ready", "/health"), usage, `--ready "/health" is no URL to ask`},
		{"a probe that cannot be asked, with a command", append(node, "--probe", "tcp://x", "--", "true"), usage, `--probe "tcp://x" is no URL to ask`},
		{"nor without one", append(node, "--probe", "/health"), usage, `--probe "/health" is no URL to ask`},
		{"a first report of no known word", append(node, "--status", "activ", "--", "true"), usage, `--status "activ" is none of`},
		{"pulses without a pause between them", append(node, "--pulse-every", "0s"), usage, "--pulse-every, or DETOUR_PULSE_EVERY, is 0s"},
		{"nor less than nothing", append(node, "--pulse-every", "-1s"), usage, "is -1s"},
		{"a node that is none, and a command that is not run", []string{"agent", "--id", "n1", "--", "no-such-command"}, usage, "is missing"},
		{"a command that is not there", append(node, "--", "no-such-command"), 127, "executable file not found"},
		{"a command that cannot run", append(node, "--", "/"), 126, "is a directory"},
		{"a socket where there is no folder", append(node, "--gate", filepath.Join(t.TempDir(), "none", "gate")), failed, "→ name a path in a folder that is there"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			a := &app{environment: offAWS(url), stdout: &out, stderr: &errs}
			assert.Equal(t, row.code, a.run(t.Context(), row.args))
			assert.Contains(t, errs.String(), row.says)
		})
	}
}

func TestAnAgentFindsItsPlace(t *testing.T) {
	const task = "arn:aws:ecs:us-west-2:123456789012:task/default/158d1c8083dd49d6b527399fd6414f5c"
	var asked atomic.Int64
	ecs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprintf(w, `{"TaskARN":%q,"Containers":[{"Networks":[{"NetworkMode":"awsvpc","IPv4Addresses":["192.0.2.7"]}]}]}`, task)
	}))
	t.Cleanup(ecs.Close)
	for _, row := range []struct {
		name         string
		args         []string
		target, task string
		asks         bool
	}{
		{"by itself", nil, "192.0.2.7", task, true},
		{"a target that is given stands", []string{"--target", "i-1"}, "i-1", task, true},
		{"a task that is given stands", []string{"--task", "arn:mine"}, "192.0.2.7", "arn:mine", true},
		{"with both given nobody is asked", []string{"--target", "i-1", "--task", "arn:mine"}, "i-1", "arn:mine", false},
		{"nor where there is none", []string{"--target", "none"}, "", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, url := registry(t)
			environment := offAWS(url)
			environment["ECS_CONTAINER_METADATA_URI_V4"] = ecs.URL
			before := asked.Load()
			end := agentRun(t, environment, row.args...)
			n := node(t, r, cluster.Active)
			assert.Equal(t, row.target, n.Target)
			assert.Equal(t, row.task, n.Task)
			assert.Equal(t, row.asks, asked.Load() > before)
			assert.Equal(t, done, end())
		})
	}
}

func TestAnAgentBesideItsApplicationWaitsUntilThatIsReady(t *testing.T) {
	r, url := registry(t)
	var ready atomic.Bool
	var asked atomic.Int64
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/health" && !ready.Load() {
			asked.Add(1)
			http.Redirect(w, req, "/login", http.StatusFound) // which answers 200
		}
	}))
	t.Cleanup(application.Close)
	end := agentRun(t, offAWS(url), "--ready", application.URL+"/health")
	node(t, r, cluster.Starting)
	require.Eventually(t, func() bool { return asked.Load() >= 3 }, 10*time.Second, 5*time.Millisecond, "it is asked on")
	assert.Equal(t, cluster.Starting, statusOf(t, r))
	ready.Store(true)
	node(t, r, cluster.Active)
	assert.Equal(t, done, end())
	assert.Empty(t, statusOf(t, r))
}

func TestAnAgentWithAGatePublishesFigures(t *testing.T) {
	for name, args := range map[string][]string{"with one": {"--gate", filepath.Join(t.TempDir(), "gate"), "--quiet", "10ms"}, "without": nil} {
		t.Run(name, func(t *testing.T) {
			r, url := registry(t)
			end := agentRun(t, offAWS(url), args...)
			node(t, r, cluster.Active)
			if args == nil {
				assert.Nil(t, node(t, r, cluster.Active).Figures)
			} else {
				require.Eventually(t, func() bool { return node(t, r, cluster.Active).Figures != nil }, 10*time.Second, 5*time.Millisecond)
			}
			assert.Equal(t, done, end())
		})
	}
}
