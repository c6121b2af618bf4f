package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/buildtest"
	commands "github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/pkg/cluster"
)

// credentials are the environment by which AWS's SDK finds the API at url.
func credentials(url string) map[string]string {
	return map[string]string{
		"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "made", "AWS_SECRET_ACCESS_KEY": "up", "AWS_REGION": "us-east-1",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	}
}

// operate runs the CLI as an operator outside the network does: with nothing but
// credentials, and the function's name. Its answer is read into result, unless nil.
func (s *stack) operate(result any, args ...string) {
	s.t.Helper()
	program := buildtest.Program(s.t, "./cmd/detour")
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append([]string{"--function", function, "--json"}, args...)...)
	cmd.Env = []string{"HOME=" + s.t.TempDir()}
	for name, value := range credentials(s.url) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	answer, err := cmd.Output()
	require.NoError(s.t, err, "detour %v: %s", args, &complaint)
	if result != nil {
		require.NoError(s.t, json.Unmarshal(answer, result), "%s", answer)
	}
}

func (s *stack) status() commands.Status {
	s.t.Helper()
	var now commands.Status
	s.operate(&now, "status")
	return now
}

// quietFor is how long nothing may have arrived at a node that counts as drained.
const quietFor = time.Second

// drained waits until the nodes of group, as far as the status tells, obey the
// pause of that epoch, have nothing in flight, and see nothing arrive any more.
func (s *stack) drained(group string, epoch int64) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	arrived, since := int64(-1), time.Now()
	for time.Since(since) < quietFor {
		require.True(s.t, time.Now().Before(deadline), "%s does not drain", group)
		total, settled := int64(0), true
		for _, n := range s.nodesOf(group) {
			settled = settled && n.Figures != nil && n.Figures.SeenEpoch >= epoch && n.Figures.InFlight == 0
			if n.Figures != nil {
				total += n.Figures.Arrivals
			}
		}
		if !settled || total != arrived {
			arrived, since = total, time.Now()
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (s *stack) nodesOf(group string) []commands.NodeStatus {
	for _, g := range s.status().Groups {
		if g.ID == group {
			return g.Nodes
		}
	}
	return nil
}

// pause pauses a group.
func (s *stack) pause(group string) commands.Paused {
	s.t.Helper()
	s.begin("pausing " + group)
	var p commands.Paused
	s.operate(&p, "pause", cluster.GroupTarget(group).String(), "--reason", "a new version")
	require.Len(s.t, p.Nodes, perGroup)
	return p
}

func (s *stack) resume(group string) commands.Resumed {
	s.t.Helper()
	s.begin("resuming " + group)
	var r commands.Resumed
	s.operate(&r, "resume", cluster.GroupTarget(group).String())
	require.True(s.t, r.WasPaused)
	return r
}
