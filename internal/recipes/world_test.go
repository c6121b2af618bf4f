//go:build unix

package recipes

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/buildtest"
	"github.com/detourhq/detour/internal/localalb"
	"github.com/detourhq/detour/internal/locallambda"
	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/internal/traffic"
	"github.com/detourhq/detour/pkg/cluster"
)

const (
	// patience bounds every wait for what takes seconds at most.
	patience = 30 * time.Second
	// lag is what a load balancer may take until it obeys a deregistration.
	lag = 500 * time.Millisecond
)

// world is what a node is replaced in: a registry, and a load balancer that forwards
// /blue/ to the target group blue, and /green/ to the redirect function, which leads
// to blue's nodes at their own endpoints. One node, the peer, is always there.
type world struct {
	t        *testing.T
	redis    *redistest.Server
	registry *cluster.Registry
	alb      *localalb.LoadBalancer
	log      *journal // of all programs
	root     string   // "/" of the machine that the recipe runs on; short, for sockets
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := &world{t: t, redis: redistest.Start(t), log: &journal{}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the programs' output:\n%s", w.log)
		}
	})
	var err error
	w.root, err = os.MkdirTemp("", "d-") //nolint:usetesting // a socket's path has 107 bytes at most, and t.TempDir's are longer
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(w.root) })
	client, err := cluster.Dial(w.redis.URL, patience)
	require.NoError(t, err)
	w.registry, err = cluster.NewRegistry(client, "default")
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.registry.Close() })
	w.startBalancer()
	peer := &traffic.Node{ID: "peer", Group: "blue", Address: "127.0.0.2:0"}
	require.NoError(t, peer.Start(t.Context(), 1))
	t.Cleanup(peer.Stop)
	require.NoError(t, peer.Join(t.Context(), w.registry))
	t.Cleanup(func() { _ = peer.Leave(context.WithoutCancel(t.Context())) })
	require.NoError(t, w.alb.Register("blue", peer.Address))
	w.healthy(peer.Address)
	return w
}

func (w *world) startBalancer() {
	t := w.t
	function, err := locallambda.New(locallambda.Config{
		Binary: buildtest.Program(t, function), Copies: 2, WaitForCopy: true, Timeout: patience, Log: w.log,
		Env: map[string]string{"DETOUR_REDIS_URL": w.redis.URL, "DETOUR_REDIS_TIMEOUT": "10s", "DETOUR_ORIGINS": "detour=green", "DETOUR_FADE_IN": "0s"},
	})
	require.NoError(t, err)
	t.Cleanup(function.Close)
	w.alb, err = localalb.New(localalb.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.alb.Close() })
	health := localalb.HealthCheck{Path: traffic.HealthPath, Interval: 100 * time.Millisecond, HealthyThreshold: 2, UnhealthyThreshold: 2}
	require.NoError(t, w.alb.AddHTTPGroup("blue", localalb.HTTPGroup{Health: health}))
	require.NoError(t, w.alb.AddLambdaGroup("detour", localalb.LambdaGroup{Function: function, MultiValueHeaders: true}))
	for path, group := range map[string]string{"/blue/*": "blue", "/green/*": "detour"} {
		require.NoError(t, w.alb.SetRule(localalb.Rule{
			Name: group, Priority: len(group), Conditions: []localalb.Condition{localalb.PathPattern(path)}, Action: localalb.Forward{group: 1},
		}))
	}
	require.NoError(t, w.alb.Start(t.Context()))
}

// address returns one on loopback that nobody listens on.
func (w *world) address() string {
	w.t.Helper()
	listener, err := traffic.Listen(w.t.Context(), fmt.Sprintf("127.0.1.%d:0", hosts.Add(1)%250+1))
	require.NoError(w.t, err)
	require.NoError(w.t, listener.Close())
	return listener.Addr().String()
}

// hosts counts the loopback hosts that tests were given: each its own, so that no
// connection from elsewhere is given its port.
var hosts atomic.Int64

// environment is what every program on the machine has.
func (w *world) environment(more ...string) []string {
	return append([]string{"PATH=" + searched(w.t), "HOME=" + w.root, "TMPDIR=" + w.root, "AWS_EC2_METADATA_DISABLED=true"}, more...)
}

func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	require.Eventually(w.t, ok, patience, 20*time.Millisecond, what)
}

func (w *world) healthy(target string) {
	w.t.Helper()
	w.until(target+" is healthy", func() bool {
		all, err := w.alb.Health("blue")
		for _, h := range all {
			if h.Target == target && h.State == localalb.StateHealthy {
				return err == nil
			}
		}
		return false
	})
}

// node is what the registry holds of a node; nothing if it is not registered.
func (w *world) node(id string) cluster.Node {
	s, err := w.registry.Snapshot(w.t.Context(), time.Now)
	if err != nil {
		return cluster.Node{}
	}
	n, ok := s.Node(id)
	if !ok {
		return cluster.Node{}
	}
	return *n
}

// status is what a node reports; empty if it is not registered.
func (w *world) status(id string) cluster.Status { return w.node(id).Report.Status }

func (w *world) generation(id string) cluster.Generation { return w.node(id).Generation }

// paused tells whether somebody has paused the node.
func (w *world) paused(id string) bool {
	s, err := w.registry.Snapshot(w.t.Context(), time.Now)
	require.NoError(w.t, err)
	_, ok := s.Pauses[cluster.NodeTarget(id)]
	return ok
}

// How long one request lasts that is under way at a node when it is replaced: longer
// than an application takes to end, and longer than any spoiled recipe waits.
const (
	long     = 3 * time.Second
	tooLong  = 25 * time.Second
	requests = 50 // per second, besides
)

// under has clients send while a node is replaced, and one more wait for an answer of
// that node, at address, that lasts long. It returns how many requests were answered
// well, and what became of the others.
func (w *world) under(address string, lasts time.Duration, replace func()) (ok int, lost []string) {
	w.t.Helper()
	tally := traffic.NewTally(time.Now())
	load := traffic.NewLoad(w.alb.URL(), requests, []string{"blue", "green"}, tally, func() string { return "" })
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	stop := make(chan struct{})
	var sending sync.WaitGroup
	sending.Go(func() { load.Run(ctx, stop) })
	answered := func(more int) {
		least := tally.Counts().Requests + more
		w.until("requests are answered", func() bool { return tally.Counts().Requests >= least })
	}
	answered(20)
	var cut error
	answer, err := begin(ctx, "http://"+address+"/blue/report?lasts="+lasts.String())
	require.NoError(w.t, err)
	sending.Go(func() {
		defer answer.Close()
		_, cut = io.Copy(io.Discard, answer)
	})
	replace()
	answered(20)
	close(stop)
	sending.Wait()
	r := tally.Final(time.Now())
	for _, f := range r.Failures {
		lost = append(lost, f.String())
	}
	if cut != nil {
		lost = append(lost, "what was under way: "+cut.Error())
	}
	assert.Positive(w.t, r.Redirected)
	return r.OK, lost
}

// begin asks a node itself, and returns the body of an answer that has begun.
func begin(ctx context.Context, url string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	return resp.Body, nil
}
