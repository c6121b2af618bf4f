package main

import (
	"bytes"
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/agent"
	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/internal/wait"
	"github.com/detourhq/detour/pkg/cluster"
)

// fleet is a real registry with nodes that count, and a shell to operate them.
type fleet struct {
	shell
	server   *redistest.Server
	registry *cluster.Registry
}

func newFleet(t *testing.T) fleet {
	t.Helper()
	server := redistest.Start(t)
	client, err := cluster.Dial(server.URL, 2*time.Second)
	require.NoError(t, err)
	r, err := cluster.NewRegistry(client, "default")
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return fleet{shell{t, map[string]string{"DETOUR_REDIS_URL": server.URL}}, server, r}
}

// node runs one of the group blue whose requests in flight are the number returned,
// and end so long after it has been paused; never for zero.
func (f fleet) node(id string, inflight int64, last time.Duration) *atomic.Int64 {
	f.t.Helper()
	var now atomic.Int64
	now.Store(inflight)
	a := agent.New(f.registry, agent.Config{
		Descriptor: cluster.Descriptor{ID: id, Group: "blue", Endpoint: "https://" + id + ".example.com", Weight: 1},
		Figures:    func() cluster.Figures { return cluster.Figures{InFlight: now.Load()} },
		OnChange: func(c agent.Cover) {
			if c.Paused && last > 0 {
				time.AfterFunc(last, func() { now.Store(0) })
			}
		},
	})
	require.NoError(f.t, a.Start(f.t.Context()))
	ctx, cancel := context.WithCancel(f.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = a.Run(ctx)
	}()
	f.t.Cleanup(func() {
		cancel()
		<-ended
	})
	return &now
}

// throughLambda has this process call the API at url.
func throughLambda(t *testing.T, url string) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_LAMBDA": url, "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "made", "AWS_SECRET_ACCESS_KEY": "up",
		"AWS_MAX_ATTEMPTS": "1", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
	} {
		t.Setenv(name, value)
	}
}

// outcome is how a call in the background ended.
type outcome struct {
	code           int
	stdout, stderr string
}

// begin calls in the background, and returns once target is paused.
func (f fleet) begin(ctx context.Context, args ...string) <-chan outcome {
	f.t.Helper()
	result := make(chan outcome, 1)
	go func() {
		var out, errs bytes.Buffer
		a := &app{environment: f.env, stdout: &out, stderr: &errs}
		code := a.run(ctx, args)
		result <- outcome{code, out.String(), errs.String()}
	}()
	require.Eventually(f.t, func() bool {
		s, err := f.registry.Snapshot(ctx, time.Now)
		return err == nil && len(s.Pauses) > 0
	}, 10*time.Second, 5*time.Millisecond)
	return result
}

func TestAPauseWaitsForWhatIsUnderWay(t *testing.T) {
	f := newFleet(t)
	api := lambdaAPI(t, f.server.URL)
	throughLambda(t, api.URL)
	for _, s := range []shell{f.shell, {t, map[string]string{"DETOUR_FUNCTION": "detour-heartbeat"}}} {
		n1, n2 := f.node("n1", 1, time.Second), f.node("n2", 0, 0)
		p := object[awaited](s, "pause", "group:blue", "--wait", "--quiet", "500ms")
		assert.Zero(t, n1.Load()+n2.Load(), "it returns after, not before")
		assert.Equal(t, []string{"n1", "n2"}, p.Nodes, "the answer is that of a pause,")
		assert.Equal(t, wait.Done, p.Wait.State, "and tells of the wait")
		assert.GreaterOrEqual(t, p.Wait.WaitedMS, int64(1000))
		require.Len(t, p.Wait.Nodes, 2)
		assert.True(t, p.Wait.Nodes[0].Quiet)
		s.ok("resume", "group:blue")
	}
	text := f.ok("pause", "group:blue", "--wait", "--quiet", "0s")
	assert.Contains(t, text, "paused group:blue")
	assert.Contains(t, text, "nothing is under way at 2 nodes")
}

func TestAWaitIsOvertaken(t *testing.T) {
	for _, row := range []struct {
		name string
		args []string // of the call that does it
		says []string
	}{
		{"by a resume (pgbouncer/pgbouncer#715)", []string{"resume", "group:blue", "--by", "day shift"}, []string{"overtaken", "resumed", "day shift"}},
		{"by another pause", []string{"pause", "group:blue", "--mode", "stop", "--by", "night shift"}, []string{"overtaken", "night shift", "mode stop"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFleet(t)
			f.node("n1", 1, 0)
			result := f.begin(t.Context(), "pause", "group:blue", "--wait", "--json")
			f.ok(row.args...)
			r := <-result
			assert.Equal(t, overtaken, r.code)
			for _, word := range row.says {
				assert.Contains(t, r.stderr, word)
			}
			var p awaited
			require.NoError(t, json.Unmarshal([]byte(r.stdout), &p), r.stdout)
			assert.Equal(t, wait.Overtaken, p.Wait.State)
		})
	}
}

func TestAWaitEndsByItself(t *testing.T) {
	for _, row := range []struct {
		name string
		code int
		args []string
		says []string
	}{
		{"at its limit", timedOut, []string{"--timeout", "1500ms"}, []string{"waiting: 0 of 1 nodes quiet, 5 in flight", "n1: 5 in flight", "detour resume group:blue lifts it"}},
		{"with the pause (hashicorp/consul#345)", overtaken, []string{"--for", "1s"}, []string{"ended by itself"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFleet(t)
			f.node("n1", 5, 0)
			code, _, stderr := f.call(append([]string{"pause", "group:blue", "--wait"}, row.args...)...)
			assert.Equal(t, row.code, code)
			for _, word := range row.says {
				assert.Contains(t, stderr, word)
			}
		})
	}
}

func TestAWaitForANodeThatCountsNothingEndsAtOnce(t *testing.T) {
	f := newFleet(t)
	f.register("n2", "blue")
	code, stdout, stderr := f.call("pause", "group:blue", "--wait", "--json")
	assert.Equal(t, failed, code)
	assert.Contains(t, stderr, "node n2 publishes no figures: run its agent with --gate")
	assert.Contains(t, stderr, "the pause stands")
	assert.Contains(t, stdout, `"state":"unproven"`)
}

func TestAWaitOutlivesItsRegistry(t *testing.T) {
	f := newFleet(t)
	f.env["DETOUR_REDIS_TIMEOUT"] = "300ms"
	f.node("n1", 1, 0)
	result := f.begin(t.Context(), "pause", "group:blue", "--wait", "--timeout", "4s")
	f.server.Kill()
	r := <-result
	assert.Equal(t, timedOut, r.code)
	assert.Contains(t, r.stderr, "look at the registry:")
}

func TestAnInterruptedWaitLeavesThePause(t *testing.T) {
	f := newFleet(t)
	f.node("n1", 1, 0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := f.begin(ctx, "pause", "group:blue", "--wait", "--json")
	time.AfterFunc(500*time.Millisecond, cancel)
	r := <-result
	assert.Equal(t, failed, r.code)
	assert.Contains(t, r.stderr, "the pause stands: detour resume group:blue lifts it")
	assert.Contains(t, r.stdout, `"state":"interrupted"`)
	s, err := f.registry.Snapshot(t.Context(), time.Now)
	require.NoError(t, err)
	assert.Contains(t, s.Pauses, cluster.GroupTarget("blue"))
}

func TestWithoutNodesNothingIsWaitedFor(t *testing.T) {
	s := shell{t, map[string]string{"DETOUR_REDIS_URL": "redis://" + miniredis.RunT(t).Addr()}}
	code, _, stderr := s.call("pause", "group:blue", "--wait")
	assert.Equal(t, done, code)
	assert.Contains(t, stderr, "No node is covered")
	p := object[awaited](s, "pause", "group:blue", "--wait")
	assert.Contains(t, p.Warnings, "No node is covered: there was none to wait for.")

	for _, args := range [][]string{{"--quiet", "1s"}, {"--timeout", "1s"}, {"--wait", "--quiet", "-1s"}, {"--wait", "--timeout", "0s"}} {
		code, _, _ := s.call(append([]string{"pause", "group:blue"}, args...)...)
		assert.Equal(t, usage, code, args)
	}
}

func TestAWaitShowsHowItStands(t *testing.T) {
	left := wait.Result{State: wait.Waiting, Nodes: []wait.Node{{ID: "n1", Quiet: true}, {ID: "n2", InFlight: 5, Sessions: 12}}}
	at := func(ms, inflight int64) wait.Result {
		r := left
		r.WaitedMS = ms
		r.Nodes = []wait.Node{left.Nodes[0], {ID: "n2", InFlight: inflight, Sessions: 12}}
		return r
	}
	ended := at(70_000, 0)
	ended.State = wait.Done
	for _, row := range []struct {
		name string
		live bool
		want string
	}{
		{"in lines for what changes, at most each 5 s", false, "waiting: 1 of 2 nodes quiet, 5 in flight, 12 sessions, 00:00\n" +
			"waiting: 1 of 2 nodes quiet, 3 in flight, 12 sessions, 00:05\n"},
		{"in one line on a terminal, however narrow", true, "\r\x1b[K\x1b[?7l[#####-----] 00:00 waiting: 1 of 2 nodes quiet, 5 in flight, 12 sessions\x1b[?7h" +
			"\r\x1b[K\x1b[?7l[#####-----] 00:04 waiting: 1 of 2 nodes quiet, 4 in flight, 12 sessions\x1b[?7h" +
			"\r\x1b[K\x1b[?7l[#####-----] 00:05 waiting: 1 of 2 nodes quiet, 3 in flight, 12 sessions\x1b[?7h" +
			"\r\x1b[K\x1b[?7l[#####-----] 01:09 waiting: 1 of 2 nodes quiet, 3 in flight, 12 sessions\x1b[?7h\r\x1b[K"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var b bytes.Buffer
			d := waitDisplay{w: &b, live: row.live}
			for _, r := range []wait.Result{at(0, 5), at(4999, 4), at(5000, 3), at(69_999, 3), ended} {
				d.show(r)
			}
			assert.Equal(t, row.want, b.String())
		})
	}
}
