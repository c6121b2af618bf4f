//go:build unix

package entry_test

import (
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// startGated starts an application that asks a gate.
func startGated(t *testing.T, url string, flags ...string) *run {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gate")
	return start(t, url, []string{"APP_GATE=" + path}, append(append([]string{"--gate", path}, flags...), app(t)...)...)
}

func TestTheApplicationIsStoppedWhenNothingIsInFlightAndNothingArrives(t *testing.T) {
	registry, server := open(t)
	r := startGated(t, server.URL)
	awaitReport(t, registry, cluster.Active)
	var clients sync.WaitGroup
	defer clients.Wait()
	clients.Go(func() { r.tell("/long-work") })
	r.await("working")

	r.signal(syscall.SIGTERM)
	awaitReport(t, registry, cluster.Paused)
	r.tell("/work")
	r.await("worked") // what still arrives is served: no resume will come
	time.Sleep(time.Second)
	assert.Empty(t, r.says("got terminated"), "one is in flight for longer than --quiet")
	r.tell("/release")
	assert.Equal(t, 0, r.code())
	assert.NotEmpty(t, r.says("got terminated"))
}

// A drain that does not succeed is no reason not to stop, nor to stay in the registry
// (MODCLUSTER-596).
func TestARequestThatNeverEndsKeepsNobodyFromTheEnd(t *testing.T) {
	registry, server := open(t)
	r := startGated(t, server.URL, "--drain-timeout", "500ms")
	awaitReport(t, registry, cluster.Active)
	var clients sync.WaitGroup
	defer clients.Wait()
	clients.Go(func() { r.tell("/long-work") })
	r.await("working")
	r.signal(syscall.SIGTERM)
	assert.Equal(t, 0, r.code())
	r.logged("1 requests in flight")
	assert.NotEmpty(t, r.says("got terminated"))
	assert.Equal(t, []string{"node.registered active", "node.reported paused", "node.left"}, events(t, server))
}

func TestAPauseWithholdsTheGOUntilItEnds(t *testing.T) {
	for mode, withheld := range map[cluster.Mode]bool{cluster.Redirect: true, cluster.Hold: true, cluster.Stop: true, cluster.Drain: false} {
		t.Run(string(mode), func(t *testing.T) {
			registry, server := open(t)
			r := startGated(t, server.URL)
			awaitReport(t, registry, cluster.Active)
			pause, err := registry.Pause(t.Context(), cluster.NodeTarget("n1"), cluster.PauseRequest{Mode: mode, By: "ops"})
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				s, err := registry.Snapshot(t.Context(), time.Now)
				return err == nil && s.Nodes[0].Figures != nil && s.Nodes[0].Figures.SeenEpoch >= pause.Epoch
			}, patience, tick, "the node says that it obeys")
			if mode == cluster.Redirect {
				r.logged("withholds the GO")
			}
			var clients sync.WaitGroup
			defer clients.Wait()
			clients.Go(func() { r.tell("/work") })
			r.await("at the gate")
			if withheld {
				time.Sleep(200 * time.Millisecond)
				assert.Empty(t, r.says("working"))
				_, _, err := registry.Resume(t.Context(), cluster.NodeTarget("n1"), "ops", "")
				require.NoError(t, err)
			}
			r.await("worked")
		})
	}
}

func TestAnOperatorsPauseWithholdsTheGOToTheEnd(t *testing.T) {
	registry, server := open(t)
	r := startGated(t, server.URL)
	awaitReport(t, registry, cluster.Active)
	_, err := registry.Pause(t.Context(), cluster.NodeTarget("n1"), cluster.PauseRequest{Mode: cluster.Hold, By: "ops"})
	require.NoError(t, err)
	r.logged("node paused")
	r.signal(syscall.SIGTERM)
	awaitReport(t, registry, cluster.Paused)
	var clients sync.WaitGroup
	defer clients.Wait()
	clients.Go(func() { r.tell("/work") })
	r.await("at the gate")
	assert.Equal(t, 0, r.code())
	assert.Empty(t, r.says("working"), "what is behind the application is being worked on")
}

func TestASocketThatIsInUseIsNotTakenOver(t *testing.T) {
	registry, server := open(t)
	r := startGated(t, server.URL)
	awaitReport(t, registry, cluster.Active)
	path := r.cmd.Args[len(r.cmd.Args)-3]
	second := start(t, server.URL, nil, "--id", "n2", "--gate", path, "--", "true")
	assert.Equal(t, 1, second.code())
	second.logged("in use")
	assert.True(t, r.lives())
}
