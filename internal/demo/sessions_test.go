package demo

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/internal/shop"
	"github.com/detourhq/detour/pkg/cluster"
)

// shortSessions is a demo of a few seconds. Its nodes stay quiet for longer than a
// customer on a busy machine thinks.
func shortSessions() SessionsConfig {
	return SessionsConfig{
		Rounds: 1, Rate: 150, Nodes: 2,
		pace: sessionsPace{think: 80 * time.Millisecond, look: 50 * time.Millisecond, pace: pace{
			steady: 400 * time.Millisecond, quiet: 900 * time.Millisecond, down: 50 * time.Millisecond,
			check: 50 * time.Millisecond, limit: patience,
		}},
	}
}

// addUp checks what is true of every run.
func addUp(t *testing.T, r shop.Result) {
	t.Helper()
	assert.Equal(t, r.Requests, r.OK+r.Failed+r.SessionsLost)
	assert.Zero(t, r.Failed)
	assert.Zero(t, r.NewcomersAtDrained)
	assert.Positive(t, r.Sessions, "nothing was at stake")
	assert.LessOrEqual(t, r.SessionsLost, r.Sessions, "nothing else was")
	assert.Positive(t, r.Redirected, "newcomers were led on")
	assert.Greater(t, r.Logins, r.Sessions)
	assert.Positive(t, r.P50MS)
	assert.GreaterOrEqual(t, r.P99MS, r.P50MS)
}

func TestADrainLosesNoSession(t *testing.T) {
	var last Progress
	r, err := RunSessions(within(t, 2*patience), shortSessions(), func(p Progress) { last = p })
	require.NoError(t, err)
	addUp(t, r)
	assert.Empty(t, r.Failures)
	assert.Zero(t, r.SessionsLost)
	assert.Equal(t, 2, r.Drained)
	assert.Zero(t, r.Forced)
	assert.Equal(t, []int{r.Requests, r.OK, 2, 2}, []int{last.Requests, last.OK, last.NodesDeployed, last.NodesTotal})
}

func TestTheSameDeploymentWithRedirectLosesSessions(t *testing.T) {
	c := shortSessions()
	c.Mode = cluster.Redirect
	r, err := RunSessions(within(t, 2*patience), c, nil)
	require.NoError(t, err)
	addUp(t, r)
	assert.Positive(t, r.SessionsLost)
	assert.Zero(t, r.LostEarly)
	assert.Positive(t, r.Forced)
	assert.NotEmpty(t, r.Failures)
}

func TestADeadlineShorterThanTheSessionsCutsThemOff(t *testing.T) {
	c := shortSessions()
	c.pace.think = 200 * time.Millisecond
	c.Deadline = 300 * time.Millisecond
	r, err := RunSessions(within(t, 2*patience), c, nil)
	require.NoError(t, err)
	addUp(t, r)
	assert.Positive(t, r.SessionsLost)
	assert.Zero(t, r.LostEarly, "none before the deadline")
	assert.GreaterOrEqual(t, r.Forced, r.SessionsLost)
}

func TestASilentSessionKeepsItsNode(t *testing.T) {
	c, err := shortSessions().withDefaults()
	require.NoError(t, err)
	w := &shopWorld{stage: stage{phase: silent}, config: c, tally: shop.NewTally(time.Now())}
	t.Cleanup(func() { require.NoError(t, w.close(context.Background())) })
	require.NoError(t, w.setUp(within(t, patience)))
	n := w.nodes[0]
	res := post(t, n.URL()+"/login", "")
	require.Equal(t, http.StatusOK, res.StatusCode)

	w.config.pace.limit = 3 * time.Second // an agent obeys within 1 s
	err = w.renew(within(t, patience), n)
	require.ErrorContains(t, err, "shop-1 did not drain within 3s: timeout: node shop-1: 1 sessions")
	assert.Equal(t, 1, n.Version())
	res = post(t, n.URL()+"/logout", res.Header.Get("Set-Cookie"))
	require.Equal(t, http.StatusOK, res.StatusCode, "it is served on")
	assert.Equal(t, shop.Result{}, w.tally.Counts(), "nothing was deployed")
}

// post sends an empty form with that cookie, its attributes included.
func post(t *testing.T, address, cookie string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(within(t, patience), http.MethodPost, address, http.NoBody)
	require.NoError(t, err)
	req.Header.Set("Cookie", cookie)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res
}

func TestAnEndedContextEndsTheSessionsDemoWithoutFailures(t *testing.T) {
	ctx, cancel := context.WithCancel(within(t, patience))
	r, err := RunSessions(ctx, shortSessions(), func(p Progress) {
		if p.Phase == "draining shop-1" {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	assert.Positive(t, r.Requests)
	assert.Zero(t, r.Failed+r.SessionsLost)
}

func TestADemoOnAForeignRegistryLeavesNothingBehind(t *testing.T) {
	server := redistest.Start(t)
	ctx, cancel := context.WithCancel(within(t, patience))
	c := shortSessions()
	c.RedisURL = server.URL
	_, err := RunSessions(ctx, c, func(p Progress) {
		if p.Requests > 0 {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close()
	keys, err := client.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	assert.Empty(t, keys)
}
