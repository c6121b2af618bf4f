//go:build unix

package recipes

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// span returns the time span that follows the words in text: 90s, 5m, or a number of
// seconds.
func span(t *testing.T, text, words string) time.Duration {
	t.Helper()
	m := regexp.MustCompile(regexp.QuoteMeta(words) + `["',=: ]*(\d+)([sm]?)`).FindStringSubmatch(text)
	require.NotNil(t, m, "there is no %s", words)
	if m[2] == "" {
		m[2] = "s"
	}
	d, err := time.ParseDuration(m[1] + m[2])
	require.NoError(t, err)
	return d
}

// What the agent may need beside its own limits: it leaves the registry.
const leaving = 2 * time.Second

// Who waits for somebody waits longer than that one may take.
func TestTimeLimitsNest(t *testing.T) {
	unit, userData := recipe(t, "asg/detour-agent.service"), recipe(t, "asg/user-data.sh")
	stop, spec := recipe(t, "codedeploy/scripts/stop.sh"), recipe(t, "codedeploy/appspec.yml")
	task, entry, preStop := recipe(t, "ecs/task-definition.json"), recipe(t, "kubernetes/entrypoint.yaml"), recipe(t, "kubernetes/prestop.yaml")
	const application = 90 * time.Second // DefaultTimeoutStopSec= of its unit
	for _, row := range []struct {
		name         string
		outer, inner time.Duration
		more         time.Duration
	}{
		{"systemd for the agent", span(t, unit, "TimeoutStopSec"), span(t, userData, "NODE_DRAIN:="), leaving},
		{"CodeDeploy for stop.sh", span(t, spec, "timeout"), span(t, stop, "--timeout"), span(t, unit, "TimeoutStopSec") + application},
		{"stop.sh for sessions", span(t, stop, "--timeout"), span(t, stop, "--deadline"), 30 * time.Second},
		{"ECS for the container", span(t, task, "stopTimeout"), span(t, task, "--drain-timeout"), span(t, task, "--stop-timeout") + leaving},
		{"Kubernetes for the container", span(t, entry, "terminationGracePeriodSeconds"), span(t, entry, "--drain-timeout"), 4*time.Second + leaving},
		{"Kubernetes for preStop", span(t, preStop, "terminationGracePeriodSeconds"), span(t, preStop, "--timeout"), 10 * time.Second},
		{"preStop for sessions", span(t, preStop, "--timeout"), span(t, preStop, "--deadline"), 5 * time.Second},
		{"the pause for its pod", span(t, preStop, "--for"), span(t, preStop, "terminationGracePeriodSeconds"), 0},
	} {
		assert.GreaterOrEqual(t, row.outer, row.inner+row.more, row.name)
	}
}

// Every hook of the AppSpec has a limit that is CodeDeploy's to keep: an hour for an
// event at most.
func TestHooksHaveLimits(t *testing.T) {
	var spec appSpec
	require.NoError(t, yaml.Unmarshal([]byte(recipe(t, "codedeploy/appspec.yml")), &spec))
	assert.Equal(t, "0.0 linux OVERWRITE", strings.Join([]string{spec.Version, spec.OS, spec.Existing}, " "))
	for event, scripts := range spec.Hooks {
		for _, s := range scripts {
			assert.Positive(t, s.Timeout, event)
			assert.LessOrEqual(t, s.Timeout, 3600, event)
		}
	}
}
