package demo

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/localalb"
	"github.com/detourhq/detour/pkg/cluster"
)

// hasty is short, but its waits end soon: for deployments that cannot succeed.
func hasty(t *testing.T) Config {
	t.Helper()
	c := short(t)
	c.pace.quiet = 50 * time.Millisecond
	return c
}

func TestANewVersionThatNeverGetsHealthyEndsTheDeployment(t *testing.T) {
	w := newTestWorld(t, hasty(t))
	_, err := w.registry.Pause(t.Context(), cluster.NodeTarget("blue-2"), cluster.PauseRequest{By: "someone else"})
	require.NoError(t, err)
	w.config.pace.limit = 3 * time.Second // an agent obeys within 1 s
	d := deployment{world: w, version: 2}
	err = d.together(within(t, patience), "blue", w.nodesOf("blue"))
	require.EqualError(t, err, "blue did not get healthy within 3s: blue-2 is unhealthy Target.ResponseCodeMismatch")
	assert.Equal(t, 2, w.running(2))
	assert.Equal(t, w.weights("blue", true), weightsOf(t, w, "blue"), "the function goes on answering")
}

func TestANodeThatDoesNotDrainIsNotStopped(t *testing.T) {
	w := newTestWorld(t, hasty(t))
	n := w.nodes[0]
	body, unfinished := io.Pipe()
	t.Cleanup(func() { _ = unfinished.Close() })
	req, err := http.NewRequestWithContext(within(t, patience), http.MethodPost, n.URL()+"/blue/items/1", body)
	require.NoError(t, err)
	go func() {
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
		}
	}()
	require.Eventually(t, func() bool { return n.InFlight() == 1 }, patience, time.Millisecond)

	w.config.pace.limit = 3 * time.Second
	d := deployment{world: w, version: 2}
	err = d.alone(within(t, patience), n)
	require.EqualError(t, err, "blue-1 did not drain within 3s: 1 in flight")
	status, err := get(t, n.URL()+"/blue/items/2")
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, status)
}

func TestADeploymentOfOneNodeLeavesTheRulesAlone(t *testing.T) {
	w := newTestWorld(t, hasty(t))
	before := weightsOf(t, w, "green")
	d := deployment{world: w, version: 2}
	require.NoError(t, d.alone(within(t, patience), w.nodesOf("green")[0]))
	assert.Equal(t, before, weightsOf(t, w, "green"))
	assert.Equal(t, 1, w.running(2))
	assert.Equal(t, 3, w.running(1))
}

func TestADeployedGroupIsBackWhereItWas(t *testing.T) {
	c := hasty(t)
	c.Nodes = 1
	w := newTestWorld(t, c)
	before := weightsOf(t, w, "green")
	d := deployment{world: w, version: 2}
	require.NoError(t, d.deploy(within(t, patience), "green"))
	assert.Equal(t, before, weightsOf(t, w, "green"))
	s, err := w.registry.Snapshot(t.Context(), time.Now)
	require.NoError(t, err)
	assert.Empty(t, s.Pauses)
	n, ok := s.Node("green-1")
	require.True(t, ok)
	assert.Equal(t, "2", n.Version)
	assert.Equal(t, cluster.Active, n.Report.Status)
	assert.False(t, w.nodesOf("green")[0].Paused())
}

// weightsOf returns the weights that the group's rule has now.
func weightsOf(t *testing.T, w *world, group string) map[string]int {
	t.Helper()
	for _, r := range w.balancer.Rules() {
		if r.Name == group {
			f, ok := r.Action.(localalb.Forward)
			require.True(t, ok)
			return f
		}
	}
	t.Fatalf("no rule for %s", group)
	return nil
}
