//go:build unix

package recipes

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// every are the hooks of a deployment that goes through, after the first.
var every = []string{"ApplicationStop stop.sh", "BeforeInstall stop.sh", "ApplicationStart start.sh", "ValidateService validate.sh"}

// deployed returns an instance with version 1, by a first deployment. What the agent
// itself waits for at its end is next to nothing: the hooks are on their own.
func deployed(t *testing.T, edits ...edit) (*codeDeploy, []string) {
	t.Helper()
	c := &codeDeploy{machine: newMachine(newWorld(t))}
	require.NoError(t, os.Remove(filepath.Join(c.root, "etc/systemd/system/app.service")), "the first deployment brings it")
	application, err := os.ReadFile("testdata/units/app.service")
	require.NoError(t, err)
	_ = c.sh(filepath.Join(root, "docs/recipes/asg/user-data.sh"), // it cannot start the application yet
		"NODE_ENDPOINT=http://"+c.address, "NODE_PROBE=http://"+c.address+"/health", "NODE_DRAIN=1s", "DETOUR_REDIS_URL="+c.redis.URL)
	first := c.bundle("1", edits...)
	require.NoError(t, c.pass("BeforeInstall", first), "there is no unit yet")
	place(t, filepath.Join(c.root, "etc/systemd/system/app.service"), string(application), 0o644)
	require.NoError(t, c.deploy(first))
	return c, c.ran
}

// version is that which runs.
func (c *codeDeploy) version() string {
	req, err := http.NewRequestWithContext(context.WithoutCancel(c.t.Context()), http.MethodGet, "http://"+c.address+"/health", nil)
	require.NoError(c.t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(c.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	return string(text)
}

func TestADeploymentLosesNothingNorDoesItsRollback(t *testing.T) {
	c, first := deployed(t)
	assert.Equal(t, every[1:], first, "a first deployment has no ApplicationStop")
	assert.False(t, c.paused(instanceID))
	ok, lost := c.under(c.address, long, func() {
		require.NoError(t, c.deploy(c.bundle("2")))
		assert.Equal(t, every, c.ran)
		assert.Equal(t, "2", c.version())
		assert.Equal(t, cluster.Active, c.status(instanceID))
		assert.False(t, c.paused(instanceID))

		broken := c.bundle("broken")
		place(t, filepath.Join(broken, "scripts/validate.sh"),
			recipe(t, "codedeploy/scripts/validate.sh", edit{"within 60 answers", "within 1 answers"}), 0o755)
		require.ErrorContains(t, c.deploy(broken), "ValidateService")
		assert.True(t, c.paused(instanceID), "nobody is led to it")
		require.NoError(t, c.deploy(c.good), "the rollback is a deployment of what ran before")
	})
	assert.Empty(t, lost)
	assert.Greater(t, ok, 100)
	assert.Equal(t, "2", c.version())
	assert.False(t, c.paused(instanceID))
}

func TestADeploymentThatDoesNotPauseLosesRequests(t *testing.T) {
	spoil := edit{"    pause --wait --timeout 5m\n", "    :\n"}
	c, _ := deployed(t, spoil)
	_, lost := c.under(c.address, tooLong, func() { require.NoError(t, c.deploy(c.bundle("2", spoil))) })
	assert.NotEmpty(t, lost)
}

// Nobody waits for a node that died, nor for the resume of a group that somebody else
// has paused.
func TestADeadNodeOfAPausedGroupIsDeployedTo(t *testing.T) {
	c, _ := deployed(t)
	for _, name := range []string{"detour-agent.service", "app.service"} {
		c.systemd.mu.Lock()
		c.systemd.wanted[name] = false
		c.systemd.running[name].kill()
		c.systemd.mu.Unlock()
	}
	c.until("both are dead", func() bool { return !c.systemd.active("app.service") && !c.systemd.active("detour-agent.service") })
	assert.Equal(t, cluster.Active, c.status(instanceID), "as far as the registry knows")
	_, err := c.registry.Pause(t.Context(), cluster.GroupTarget("blue"), cluster.PauseRequest{Mode: cluster.Drain, By: "ops"})
	require.NoError(t, err)

	require.NoError(t, c.deploy(c.bundle("2")))
	assert.Equal(t, "2", c.version())
	assert.Equal(t, cluster.Active, c.status(instanceID))
	assert.False(t, c.paused(instanceID))
	s, err := c.registry.Snapshot(t.Context(), time.Now)
	require.NoError(t, err)
	assert.Contains(t, s.Pauses, cluster.GroupTarget("blue"))
}
