package localalb

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// node is a backend that answers its name and, to health checks, a status.
type node struct {
	addr   string
	status atomic.Int32
	checks atomic.Int32
}

func newNode(t *testing.T, name string) *node {
	t.Helper()
	n := &node{}
	n.status.Store(200)
	n.addr = backend(t, func(w http.ResponseWriter, r *http.Request) {
		if r.UserAgent() == checkerAgent && r.RequestURI == "/up?deep" {
			n.checks.Add(1)
			w.WriteHeader(int(n.status.Load()))
			return
		}
		_, _ = io.WriteString(w, name)
	})
	return n
}

// farm is a load balancer with the group app, checked every millisecond.
type farm struct {
	*fixture
	changes chan HealthChange
}

func newFarm(t *testing.T, cfg Config, delay time.Duration) farm {
	t.Helper()
	changes := make(chan HealthChange, 1000)
	cfg.OnHealth = func(c HealthChange) { changes <- c }
	f := serve(t, cfg)
	require.NoError(t, f.AddHTTPGroup("app", HTTPGroup{
		Health:              HealthCheck{Path: "/up?deep", Interval: time.Millisecond, Timeout: time.Second, HealthyThreshold: 2, UnhealthyThreshold: 2},
		DeregistrationDelay: delay,
	}))
	require.NoError(t, f.SetDefault(Forward{"app": 1}))
	return farm{fixture: f, changes: changes}
}

// becomes waits until the target has changed to that state.
func (f farm) becomes(n *node, want State) {
	f.t.Helper()
	for {
		c := receive(f.t, f.changes)
		if c.Target == n.addr && c.To == want {
			assert.Equal(f.t, "app", c.Group)
			return
		}
	}
}

// answers returns how often each name came back from some requests.
func (f farm) answers(requests int) map[string]int {
	f.t.Helper()
	got := map[string]int{}
	for range requests {
		res, body := f.get("/")
		if res.StatusCode != http.StatusOK {
			body = res.Status
		}
		got[body]++
	}
	return got
}

func TestHealthDecidesWhoGetsRequests(t *testing.T) {
	f, a, b := newFarm(t, Config{}, 0), newNode(t, "a"), newNode(t, "b")
	assert.Equal(t, map[string]int{"503 Service Unavailable": 1}, f.answers(1), "nobody is registered")

	require.NoError(t, f.Register("app", a.addr, b.addr))
	f.becomes(a, StateHealthy)
	b.status.Store(500)
	f.becomes(b, StateUnhealthy)
	assert.Equal(t, map[string]int{"a": 4}, f.answers(4))
	assert.Equal(t, []TargetHealth{{a.addr, StateHealthy, ""}, {b.addr, StateUnhealthy, healthMismatch}}, healthOf(t, f.LoadBalancer, "app"))

	a.status.Store(404)
	f.becomes(a, StateUnhealthy)
	assert.Equal(t, map[string]int{"a": 2, "b": 2}, f.answers(4), "all are unhealthy: fail open")

	b.status.Store(200)
	f.becomes(b, StateHealthy)
	assert.Equal(t, map[string]int{"b": 4}, f.answers(4))
}

func TestRoundRobin(t *testing.T) {
	f := newFarm(t, Config{}, 0)
	a, b, c := newNode(t, "a"), newNode(t, "b"), newNode(t, "c")
	require.NoError(t, f.Register("app", a.addr, b.addr, c.addr))
	for _, n := range []*node{a, b, c} {
		waitHealthy(t, f, n)
	}
	assert.Equal(t, map[string]int{"a": 3, "b": 3, "c": 3}, f.answers(9))
}

// waitHealthy waits for a state, whichever order targets reach it in.
func waitHealthy(t *testing.T, f farm, n *node) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, h := range healthOf(t, f.LoadBalancer, "app") {
			if h.Target == n.addr {
				return h.State == StateHealthy
			}
		}
		return false
	}, 5*time.Second, time.Millisecond)
}

func TestADrainingTargetGetsNothingNew(t *testing.T) {
	var clock atomic.Int64 // seconds
	now := func() time.Time { return time.Unix(clock.Load(), 0) }
	f, a, b := newFarm(t, Config{Now: now}, 0), newNode(t, "a"), newNode(t, "b")
	entered, release := make(chan struct{}), make(chan struct{})
	slow := backend(t, func(w http.ResponseWriter, r *http.Request) {
		if r.UserAgent() != checkerAgent {
			close(entered)
			<-release
			_, _ = io.WriteString(w, "slow but whole")
		}
	})
	require.NoError(t, f.Register("app", slow))
	inFlight := make(chan string, 1)
	go func() {
		inFlight <- fetch(t, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, f.URL())
	}()
	receive(t, entered)

	require.NoError(t, f.Deregister("app", slow, "192.0.2.1:80"))
	assert.Equal(t, map[string]int{"503 Service Unavailable": 1}, f.answers(1), "only a draining one is left")
	require.NoError(t, f.Register("app", a.addr, b.addr))
	waitHealthy(t, f, a)
	require.NoError(t, f.Deregister("app", b.addr))
	assert.Equal(t, map[string]int{"a": 4}, f.answers(4))
	close(release)
	assert.Equal(t, "slow but whole", receive(t, inFlight))

	clock.Store(299)
	assert.Equal(t, TargetHealth{slow, StateDraining, healthLeaving}, healthOf(t, f.LoadBalancer, "app")[0])
	clock.Store(300)
	assert.Len(t, healthOf(t, f.LoadBalancer, "app"), 1, "the default delay is 300 s")
}

func TestADrainingTargetCanComeBack(t *testing.T) {
	f, a := newFarm(t, Config{}, 0), newNode(t, "a")
	require.NoError(t, f.Register("app", a.addr))
	f.becomes(a, StateHealthy)
	require.NoError(t, f.Register("app", a.addr))
	assert.Equal(t, StateHealthy, healthOf(t, f.LoadBalancer, "app")[0].State, "registering twice changes nothing")
	require.NoError(t, f.Deregister("app", a.addr))
	require.NoError(t, f.Register("app", a.addr))
	f.becomes(a, StateHealthy)
	assert.Equal(t, map[string]int{"a": 1}, f.answers(1))
	assert.Len(t, healthOf(t, f.LoadBalancer, "app"), 1)
}

func TestOnlyGroupsInUseAreChecked(t *testing.T) {
	f, a := newFarm(t, Config{}, 0), newNode(t, "a")
	require.NoError(t, f.SetDefault(FixedResponse{Status: 404}))
	require.NoError(t, f.Register("app", a.addr))
	assert.Equal(t, []TargetHealth{{a.addr, StateUnused, healthNotInUse}}, healthOf(t, f.LoadBalancer, "app"))
	assert.Zero(t, a.checks.Load())

	require.NoError(t, f.AddLambdaGroup("detour", LambdaGroup{Function: says(`{"statusCode":200}`)}))
	require.NoError(t, f.SetDefault(Forward{"app": 0, "detour": 100}))
	f.becomes(a, StateHealthy) // though its weight is 0
	assert.NotZero(t, a.checks.Load())

	require.NoError(t, f.SetDefault(FixedResponse{Status: 404}))
	assert.Equal(t, []TargetHealth{{a.addr, StateUnused, healthNotInUse}}, healthOf(t, f.LoadBalancer, "app"))
}

func TestTargetErrors(t *testing.T) {
	f := newFarm(t, Config{}, 0)
	require.NoError(t, f.AddLambdaGroup("detour", LambdaGroup{}))
	require.ErrorIs(t, f.Register("none", "127.0.0.1:1"), ErrTargetGroupNotFound)
	require.ErrorIs(t, f.Deregister("none", "127.0.0.1:1"), ErrTargetGroupNotFound)
	require.Error(t, f.Register("detour", "127.0.0.1:1"), "a function is its only target")
	require.Error(t, f.Register("app", "127.0.0.1"), "no port")
	assert.Empty(t, healthOf(t, f.LoadBalancer, "app"))
	_, err := f.Health("none")
	require.ErrorIs(t, err, ErrTargetGroupNotFound)
}

func TestChecksFailWhenNobodyListensOrAnswers(t *testing.T) {
	hang := backend(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	changes := make(chan HealthChange, 100)
	f := serve(t, Config{OnHealth: func(c HealthChange) { changes <- c }})
	require.NoError(t, f.AddHTTPGroup("app", HTTPGroup{Health: HealthCheck{
		Interval: time.Millisecond, Timeout: 200 * time.Millisecond, UnhealthyThreshold: 1,
	}}))
	require.NoError(t, f.SetDefault(Forward{"app": 1}))
	require.NoError(t, f.Register("app", hang))
	assert.Equal(t, HealthChange{"app", hang, StateInitial, StateUnhealthy, healthTimeout}, receive(t, changes))
	require.NoError(t, f.Deregister("app", hang))

	gone := refusing(t)
	require.NoError(t, f.Register("app", gone))
	assert.Equal(t, HealthChange{"app", gone, StateInitial, StateUnhealthy, healthFailed}, receive(t, changes))
}
