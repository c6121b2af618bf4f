package e2e

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/buildtest"
	"github.com/detourhq/detour/internal/localalb"
	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/pkg/cluster"
)

// A load balancer goes on sending to a node for as long as its health checks take to
// notice that it is not to: for shopLag at least.
const (
	shopCheckEvery = 2 * time.Second
	shopChecks     = 6
	shopLag        = (shopChecks - 1) * shopCheckEvery
	fixedSleep     = 5 * time.Second
)

// A node's process gets not one request after its pre-stop returned, however late
// the load balancer is to notice, and no client sees an error; a node that sleeps for
// a fixed time in the same run ends while requests arrive
// (kubernetes-sigs/aws-load-balancer-controller#1064 and #2106,
// aws/amazon-ecs-agent#2316, aws/aws-node-termination-handler#316).
func TestNothingArrivesOnceThePreStopHasReturned(t *testing.T) {
	t.Parallel() // it mostly waits
	const rate = 500
	s := newShop(t)
	s.launch("stays", "127.0.0.11", true)
	told := s.launch("told", "127.0.0.12", true)
	hooked := s.launch("hooked", "127.0.0.13", true, "--quiet", "500ms") // the hook has waited for longer
	sleeper := s.launch("sleeper", "127.0.0.14", false, "--grace", fixedSleep.String())
	s.open()
	began := time.Now()
	load := startStream(t, s.alb.URL(), rate)
	for _, n := range []*shopNode{told, hooked, sleeper} {
		n.await("arrived")
	}

	paused := time.Now()
	sleeper.end()
	told.end()
	hook := start(t, nil, buildtest.Program(t, "./cmd/detour"), "pause", "node:hooked", "--redis", s.url, "--cluster", clusterName, "--wait")
	assert.Equal(t, 0, hook.code())
	returned := map[*shopNode]time.Time{hooked: time.Now()}
	hooked.end()
	returned[told] = instant(t, told.await("ordered"))
	for n := range returned {
		assert.Equal(t, 0, n.code(), n.id)
	}
	load.stop()
	t.Logf("%d requests, %.0f per second", load.sent, float64(load.sent)/time.Since(began).Seconds())

	for n, at := range returned {
		assert.Greater(t, at.Sub(paused), shopLag, "%s cannot know earlier", n.id)
		assert.Positive(t, n.after(paused.Add(fixedSleep)), "%s: a fixed sleep would have ended before the last request", n.id)
		assert.Zero(t, n.after(at), "%s got requests after its pre-stop returned", n.id)
		assert.Zero(t, s.sentAfter(n, at), "%s was sent requests after its pre-stop returned", n.id)
	}
	slept := instant(t, sleeper.await("ordered"))
	assert.Positive(t, sleeper.after(slept), "a fixed sleep is shorter than the load balancer's lag")
	assert.NotEmpty(t, load.failed, "and what arrives when the process has ended is lost")
	t.Logf("after a fixed sleep %d requests came, and %d were lost", s.sentAfter(sleeper, slept), len(load.failed))
	for path, err := range load.failed {
		if !assert.Equal(t, sleeper.address, s.target(path), "%s: %v", path, err) {
			break // one of them tells enough
		}
	}
}

// shop is a load balancer in front of nodes of real processes.
type shop struct {
	t        *testing.T
	url      string // of the registry
	registry *cluster.Registry
	alb      *localalb.LoadBalancer
	records  records // of the load balancer
	nodes    []*shopNode
}

// shopNode is an agent's process with an application.
type shopNode struct {
	*process
	id, address string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, url: redistest.Start(t).URL}
	s.registry = openRegistry(t, s.url)
	var err error
	s.alb, err = localalb.New(localalb.Config{OnRequest: s.records.add})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.alb.Close() })
	require.NoError(t, s.alb.AddHTTPGroup("shop", localalb.HTTPGroup{Health: localalb.HealthCheck{
		Path: "/_health", Interval: shopCheckEvery, UnhealthyThreshold: shopChecks,
	}}))
	require.NoError(t, s.alb.SetRule(localalb.Rule{
		Name: "all", Priority: 1, Conditions: []localalb.Condition{localalb.PathPattern("/*")}, Action: localalb.Forward{"shop": 1},
	}))
	return s
}

// launch starts a node on a free port of ip. Its gate reports to its agent, or there
// is none that the agent knows of.
func (s *shop) launch(id, ip string, reports bool, flags ...string) *shopNode {
	s.t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(s.t.Context(), "tcp", ip+":0")
	require.NoError(s.t, err)
	n := &shopNode{id: id, address: listener.Addr().String()}
	require.NoError(s.t, listener.Close())
	env := []string{"WEBAPP_ADDRESS=" + n.address, "WEBAPP_NODE=" + id, "WEBAPP_REDIS=" + s.url, "WEBAPP_CLUSTER=" + clusterName}
	args := []string{
		"agent", "--redis", s.url, "--cluster", clusterName, "--target", "none", "--id", id, "--group", "shop",
		"--endpoint", "http://" + n.address, "--ready", "http://" + n.address + "/ready",
	}
	if reports {
		path := filepath.Join(s.t.TempDir(), "gate")
		env, args = append(env, "WEBAPP_REPORT="+path), append(args, "--gate", path)
	}
	args = append(append(args, flags...), "--", buildtest.Program(s.t, "./internal/e2e/testdata/webapp"))
	n.process = start(s.t, env, buildtest.Program(s.t, "./cmd/detour"), args...)
	s.nodes = append(s.nodes, n)
	return n
}

// open lets traffic in once all nodes are offered, and returns when the load balancer
// finds them healthy.
func (s *shop) open() {
	s.t.Helper()
	eventually(s.t, s.registry, func(snapshot *cluster.Snapshot) bool {
		active := 0
		for _, n := range snapshot.Nodes {
			if n.Report.Status == cluster.Active {
				active++
			}
		}
		return active == len(s.nodes)
	})
	for _, n := range s.nodes {
		require.NoError(s.t, s.alb.Register("shop", n.address))
	}
	require.NoError(s.t, s.alb.Start(s.t.Context()))
	require.Eventually(s.t, func() bool {
		health, err := s.alb.Health("shop")
		healthy := 0
		for _, h := range health {
			if h.State == localalb.StateHealthy {
				healthy++
			}
		}
		return err == nil && healthy == len(s.nodes)
	}, patience, 5*time.Millisecond)
}

// after returns how many requests arrived at n's process after at.
func (n *shopNode) after(at time.Time) (count int) {
	for _, arrived := range n.instants("arrived") {
		if arrived.After(at) {
			count++
		}
	}
	return count
}

// sentAfter returns how many requests the load balancer sent to n after at.
func (s *shop) sentAfter(n *shopNode, at time.Time) (count int) {
	for _, r := range s.records.of("/") {
		if r.Target == n.address && r.Time.After(at) {
			count++
		}
	}
	return count
}

// target returns where the load balancer sent the request for path.
func (s *shop) target(path string) string {
	for _, r := range s.records.of(path) {
		if r.URI == path {
			return r.Target
		}
	}
	return ""
}
