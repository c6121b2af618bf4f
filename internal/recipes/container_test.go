//go:build unix

package recipes

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestATaskIsReplacedWithoutALoss(t *testing.T) {
	w := newWorld(t)
	old := w.runTask("task-1")
	assert.Contains(t, w.node("task-1").Task, "task/shop/task-1", "AWS's events will find it")
	ok, lost := w.under(old.address, long, func() {
		w.runTask("task-2")
		old.stop()
	})
	assert.Empty(t, lost)
	assert.Greater(t, ok, 100)
	assert.False(t, old.killed)
	assert.Equal(t, 0, old.code(), "as the application's")
	assert.Empty(t, w.status("task-1"))
	assert.Equal(t, cluster.Active, w.status("task-2"))
}

func TestATaskThatIsSpoiledLosesRequests(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]edit{
		"killed before it is quiet": {`"stopTimeout": 120`, `"stopTimeout": 1`},
		"no time to drain":          {`"--drain-timeout", "90s"`, `"--drain-timeout", "0s"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			old := w.runTask("task-1", e)
			_, lost := w.under(old.address, tooLong, old.stop)
			assert.NotEmpty(t, lost)
		})
	}
}

func TestAPodIsReplacedWithoutALoss(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{"by its entry point": "kubernetes/entrypoint.yaml", "by preStop": "kubernetes/prestop.yaml"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			old := w.runPod(file, "shop-1")
			ok, lost := w.under(old.address, long, func() {
				w.runPod(file, "shop-2")
				old.remove()
			})
			assert.Empty(t, lost)
			assert.Greater(t, ok, 100)
			require.NoError(t, old.failed)
			assert.False(t, old.killed)
			assert.Empty(t, w.status("shop-1"))
			assert.Equal(t, cluster.Active, w.status("shop-2"))
		})
	}
}

func TestAPodThatIsSpoiledLosesRequests(t *testing.T) {
	t.Parallel()
	const pause = `detour pause "node:$POD_NAME" --mode drain --deadline 30s --wait --timeout 40s --for 10m && detour leave --id "$POD_NAME"`
	for name, row := range map[string]struct {
		file string
		edit edit
	}{
		"its entry point has no grace": {"kubernetes/entrypoint.yaml", edit{"terminationGracePeriodSeconds: 60", "terminationGracePeriodSeconds: 1"}},
		"its preStop does not pause":   {"kubernetes/prestop.yaml", edit{pause, "true"}},
		"its preStop has a reference":  {"kubernetes/prestop.yaml", edit{"node:$POD_NAME", "node:$(POD_NAME)"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			old := w.runPod(row.file, "shop-1", row.edit)
			_, lost := w.under(old.address, tooLong, old.remove)
			assert.NotEmpty(t, lost)
		})
	}
}

// The lines for a Dockerfile say the same as the task definition.
func TestTheDockerfileStartsTheAgentAsProcessOne(t *testing.T) {
	lines := map[string]string{}
	for line := range strings.Lines(recipe(t, "ecs/Dockerfile")) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		lines[word] = rest
	}
	var entry, command []string
	require.NoError(t, json.Unmarshal([]byte(lines["ENTRYPOINT"]), &entry), "the exec form")
	require.NoError(t, json.Unmarshal([]byte(lines["CMD"]), &command))
	task, err := parse(recipe(t, "ecs/task-definition.json"))
	require.NoError(t, err)
	assert.Equal(t, task.Command, command)
	assert.Subset(t, task.EntryPoint, entry)
	assert.Equal(t, "SIGTERM", lines["STOPSIGNAL"])
}
