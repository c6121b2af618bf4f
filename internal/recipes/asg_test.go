//go:build unix

package recipes

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/buildtest"
	"github.com/detourhq/detour/pkg/cluster"
)

// serving boots an instance whose application serves and is in the target group.
func serving(t *testing.T, edits ...edit) *machine {
	t.Helper()
	m := newMachine(newWorld(t), edits...)
	install(t, filepath.Join(m.root, "opt/app"), "1")
	m.boot()
	m.until("the node is active", func() bool { return m.status(instanceID) == cluster.Active })
	require.NoError(t, m.alb.Register("blue", m.address))
	m.healthy(m.address)
	return m
}

// terminate ends the instance as Auto Scaling does: it is deregistered, and shut down
// though clients come to its own endpoint.
func (m *machine) terminate() {
	require.NoError(m.t, m.alb.Deregister("blue", m.address))
	m.systemd.shutDown("app.service")
}

func TestAnInstanceIsTerminatedWithoutALoss(t *testing.T) {
	m := serving(t)
	ok, lost := m.under(m.address, long, m.terminate)
	assert.Empty(t, lost)
	assert.Greater(t, ok, 100)
	assert.Empty(t, m.status(instanceID), "it has left")
	assert.Equal(t, 1, m.systemd.startsOf("detour-agent.service"))
}

// The checker finds what each of these lines is for.
func TestAnInstanceWhoseUnitIsSpoiledLosesRequests(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]edit{
		"stopped together with the application": {"After=network-online.target app.service", "After=network-online.target"},
		"no time to drain":                      {"--drain-timeout ${NODE_DRAIN}", "--drain-timeout 0s"},
	} {
		t.Run(name, func(t *testing.T) {
			m := serving(t, e)
			_, lost := m.under(m.address, tooLong, m.terminate)
			assert.NotEmpty(t, lost)
		})
	}
}

func TestTheAgentsUnitKeepsTheAgentButNotASupersededOne(t *testing.T) {
	m := serving(t, edit{"RestartSec=2", "RestartSec=0"})
	first := m.generation(instanceID)
	m.systemd.mu.Lock()
	agent := m.systemd.running["detour-agent.service"]
	m.systemd.mu.Unlock()
	agent.kill()
	m.until("a killed agent is started again", func() bool {
		return m.generation(instanceID) != first && m.status(instanceID) == cluster.Active
	})
	assert.Equal(t, 2, m.systemd.startsOf("detour-agent.service"))
	assert.True(t, m.systemd.active("app.service"), "all the time")

	_, _, err := m.registry.Register(t.Context(),
		cluster.Descriptor{ID: instanceID, Group: "blue", Endpoint: "http://" + m.address, Weight: 1}, cluster.Report{Status: cluster.Active})
	require.NoError(t, err)
	m.until("a superseded agent ends", func() bool { return !m.systemd.active("detour-agent.service") })
	assert.Equal(t, 2, m.systemd.startsOf("detour-agent.service"), "and is not started again")
	assert.True(t, m.systemd.active("app.service"))
}

func TestUserDataSaysWhoTheNodeIs(t *testing.T) {
	m := newMachine(newWorld(t))
	install(t, filepath.Join(m.root, "opt/app"), "1")
	const url = `redis://default:p$w"d\\@127.0.0.1:1`
	require.NoError(t, m.sh(filepath.Join(root, "docs/recipes/asg/user-data.sh"), "DETOUR_REDIS_URL="+url))
	path := filepath.Join(m.root, "etc/detour/agent.env")
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode(), "it may hold a password")

	settings, err := unit{"Service.EnvironmentFile": {"/etc/detour/agent.env"}}.settings(m.root)
	require.NoError(t, err)
	assert.Contains(t, settings, "NODE_ENDPOINT=https://"+instanceID+".nodes.example.com")
	assert.Contains(t, settings, "DETOUR_REDIS_URL="+url)
	said, err := exec.CommandContext(t.Context(), "sh", "-c", `. "$1" && printf %s "$DETOUR_REDIS_URL"`, "sh", path).Output()
	require.NoError(t, err)
	assert.Equal(t, url, string(said), "sh reads the same as systemd")
}

func TestHooksFindTheNodeWithoutSettings(t *testing.T) {
	m := newMachine(newWorld(t))
	require.NoError(t, m.sh(filepath.Join(root, "docs/recipes/codedeploy/scripts/stop.sh"), "DETOUR_REDIS_URL="+m.redis.URL))
	assert.True(t, m.paused(instanceID))
}

// The real systemd, where there is one, takes the unit as it is.
func TestSystemdTakesTheUnit(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze on this machine")
	}
	dir := t.TempDir()
	for from, to := range map[string]string{filepath.Join(root, "docs/recipes/asg/detour-agent.service"): "detour-agent.service", "testdata/units/app.service": "app.service"} {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		here := strings.NewReplacer("/usr/local/bin/detour", buildtest.Program(t, detour), "/opt/app/run", buildtest.Program(t, application)).Replace(string(text))
		place(t, filepath.Join(dir, to), here, 0o644)
	}
	cmd := exec.CommandContext(t.Context(), tool, "verify", filepath.Join(dir, "detour-agent.service"))
	cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir+":/lib/systemd/system")
	said, err := cmd.CombinedOutput()
	assert.NoError(t, err, "%s", said)
	assert.NotContains(t, string(said), "detour-agent.service", "what it says of other units is not ours")
}
