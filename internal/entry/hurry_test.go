//go:build unix

package entry_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

const tick = 5 * time.Millisecond

// statusOf returns what a node reports, empty if it is not registered.
func statusOf(t *testing.T, r *cluster.Registry, id string) cluster.Status {
	t.Helper()
	s, err := r.Snapshot(t.Context(), time.Now)
	if err != nil {
		return ""
	}
	if n, ok := s.Node(id); ok {
		return n.Report.Status
	}
	return ""
}

// gone waits until there is no such process, not even a dead one unless that may be.
func gone(t *testing.T, pid string, zombies bool) {
	t.Helper()
	require.NotEmpty(t, pid)
	require.Eventually(t, func() bool {
		raw, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || zombies && strings.Contains(string(raw), ") Z ")
	}, patience, tick, "process %s stays", pid)
}

func TestASecondSignalEndsTheWaiting(t *testing.T) {
	registry, server := open(t)
	r := start(t, server.URL, nil, append([]string{"--grace", "1h"}, app(t)...)...)
	awaitReport(t, registry, cluster.Active)
	r.signal(syscall.SIGTERM)
	awaitReport(t, registry, cluster.Paused)
	assert.Empty(t, r.says("got terminated"), "it is waited for quiet first")
	r.signal(syscall.SIGINT)
	assert.Equal(t, 0, r.code())
	assert.NotEmpty(t, r.says("got terminated"), "the application still ends in order")
	assert.Equal(t, []string{"node.registered active", "node.reported paused", "node.left"}, events(t, server))
}

func TestAStubbornApplicationIsKilled(t *testing.T) {
	for name, row := range map[string]struct {
		flags   []string
		signals int
	}{
		"when its time is over":   {[]string{"--drain-timeout", "200ms", "--stop-timeout", "500ms"}, 1},
		"when a signal hurries":   {[]string{"--drain-timeout", "1h"}, 2},
		"or two while it is busy": {[]string{"--drain-timeout", "1h", "--grace", "1h"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			registry, server := open(t)
			r := start(t, server.URL, []string{"APP_ON_TERM=wait"}, append(row.flags, app(t)...)...)
			awaitReport(t, registry, cluster.Active)
			orphan := r.tell("/orphan?for=60")
			r.signal(syscall.SIGTERM)
			awaitReport(t, registry, cluster.Paused)
			if row.signals == 3 {
				r.signal(syscall.SIGTERM)
			}
			r.await("got terminated")
			if row.signals > 1 {
				r.signal(syscall.SIGTERM)
			}
			assert.Equal(t, 128+9, r.code())
			gone(t, orphan, true) // who buries it now is another matter
			assert.Equal(t, []string{"node.registered active", "node.reported paused", "node.left"}, events(t, server))
		})
	}
}

func TestTheApplicationServesWhileTheRegistryIsDown(t *testing.T) {
	registry, server := open(t)
	server.Stop()
	r := start(t, server.URL, nil, app(t)...)
	r.tell("/become-ready")
	r.logged("registry fails")
	assert.True(t, r.lives())
	server.Restart()
	awaitReport(t, registry, cluster.Active)
	r.signal(syscall.SIGTERM)
	assert.Equal(t, 0, r.code())
}

func TestARegistryThatWasNeverThereDoesNotKeepTheApplicationFromItsEnd(t *testing.T) {
	_, server := open(t)
	server.Stop()
	r := start(t, server.URL, nil, app(t)...)
	r.logged("registry fails")
	r.signal(syscall.SIGTERM)
	assert.Equal(t, 0, r.code())
	assert.NotEmpty(t, r.says("got terminated"))
}

func TestARegistryThatHangsAtTheEndCostsABoundedTime(t *testing.T) {
	registry, server := open(t)
	r := start(t, server.URL, []string{"DETOUR_REDIS_TIMEOUT=500ms"}, append([]string{"--drain-timeout", "1s"}, app(t)...)...)
	awaitReport(t, registry, cluster.Active)
	server.Suspend()
	defer server.Resume()
	r.signal(syscall.SIGTERM)
	assert.Equal(t, 0, r.code())
	assert.NotEmpty(t, r.says("got terminated"), "the application gets its stop")
	r.logged("pause not published")
}

func TestAnApplicationWhoseNodeIsSupersededEndsInOrder(t *testing.T) {
	registry, server := open(t)
	r := start(t, server.URL, nil, app(t)...)
	awaitReport(t, registry, cluster.Active)
	newer := cluster.Descriptor{ID: "n1", Group: "blue", Endpoint: "http://newer.example.com", Weight: 1}
	_, _, err := registry.Register(t.Context(), newer, cluster.Report{Status: cluster.Active})
	require.NoError(t, err)
	assert.Equal(t, 1, r.code())
	assert.NotEmpty(t, r.says("got terminated"))
	assert.Equal(t, cluster.Active, reports(t, registry), "the newer one is left alone")
}

func TestAnApplicationWhoseNodeWasTakenOutRunsOn(t *testing.T) {
	registry, server := open(t)
	r := start(t, server.URL, nil, app(t)...)
	awaitReport(t, registry, cluster.Active)
	s, err := registry.Snapshot(t.Context(), time.Now)
	require.NoError(t, err)
	_, err = registry.Leave(t.Context(), "n1", s.Nodes[0].Generation)
	require.NoError(t, err)
	r.logged("runs on without it")
	assert.True(t, r.lives())
	r.signal(syscall.SIGTERM)
	assert.Equal(t, 0, r.code())
}

func TestOrphansAreBuried(t *testing.T) {
	_, server := open(t)
	r := start(t, server.URL, nil, app(t)...)
	var pids []string
	for range 3 {
		pids = append(pids, r.tell("/orphan?for=0.3"))
	}
	for _, pid := range pids {
		gone(t, pid, false)
	}
	r.tell("/exit?code=5")
	assert.Equal(t, 5, r.code(), "and how the application ended is not lost with them")
}
