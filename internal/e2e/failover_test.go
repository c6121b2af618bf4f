package e2e

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/agent"
	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/pkg/cluster"
)

// fleet is a deployment whose registry is a cluster of six members.
type fleet struct {
	*world
	redis  *redistest.Cluster
	agents *journal
	lives  map[string]*life // of green's nodes
}

// life is one life of a node, with its agent.
type life struct {
	*node
	agent *agent.Agent
}

// copies is how many copies of the function there are.
const copies = 4

// Green is deployed node by node while blue is paused and all its traffic
// redirected there. In the middle of that the primary that holds the registry is
// killed.
func TestAFailoverDuringADeploymentCostsNoRequest(t *testing.T) {
	t.Parallel() // it is a matter of waiting
	f := newFleet(t)
	f.pause(t, cluster.GroupTarget("blue"))
	f.warm(t)
	ended := f.load(t)

	old := f.redis.PrimaryOf(keyPrefix)
	var killed time.Time
	f.deploy(t, "g1", func() {
		killed = time.Now()
		old.Kill()
	})
	successor := f.redis.AwaitFailover(keyPrefix, old)
	took := time.Since(killed)
	f.deploy(t, "g2", func() {})

	assert.Contains(t, f.redis.Members[3:], successor)
	before := strings.Count(f.log.String(), "deciding by the best that is left")
	f.pause(t, cluster.NodeTarget("g1"))
	f.burst(t, 8, strings.TrimPrefix(f.lives["g2"].endpoint, "http://"))
	assert.Equal(t, before, strings.Count(f.log.String(), "deciding by the best that is left"), "the registry is back, and used")
	requests, failed := ended()
	assert.Empty(t, failed)
	assert.Greater(t, requests, 100)
	assert.Positive(t, before, "requests while there was no primary")

	s := eventually(t, f.registry, func(s *cluster.Snapshot) bool { return len(s.Nodes) == 3 && obeyed(s) })
	assert.Contains(t, s.Pauses, cluster.GroupTarget("blue"), "it was kept, or written back")
	for _, n := range s.Nodes {
		assert.Equal(t, cluster.Active, n.Report.Status, n.ID)
	}
	assert.Equal(t, f.lives["g1"].endpoint, s.Nodes[1].Endpoint, "the new life")
	assert.Equal(t, f.lives["g2"].endpoint, s.Nodes[2].Endpoint)
	t.Logf("%d requests, %d of them decided by what was last known, a successor after %s", requests, before, took)
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	redis := redistest.StartCluster(t, 3, 3)
	env := maps.Clone(hurried)
	env["DETOUR_PULSE_TIMEOUT"] = "15s"
	f := &fleet{world: newWorldOn(t, nil, redis.URL, copies, env), redis: redis, agents: &journal{}, lives: map[string]*life{}}
	startAgent(t, f.registry, "b1", "blue", "http://blue.example.com", nil, f.agents)
	for _, id := range []string{"g1", "g2"} {
		f.begin(t, id)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the agents' log:\n%s", f.agents.excerpt())
		}
	})
	return f
}

// warm has every copy of the function read the registry: one that starts cold while
// there is none has nothing to go by, and answers 503.
func (f *fleet) warm(t *testing.T) {
	t.Helper()
	for tries := 0; f.function.Stats().ColdStarts < copies; tries++ {
		require.Less(t, tries, 100, "bursts until all copies run")
		var sent sync.WaitGroup
		for i := range 4 * copies {
			sent.Go(func() { assert.NoError(t, f.send(t.Context(), i)) })
		}
		sent.Wait()
	}
}

// begin starts a new life of green's node called id.
func (f *fleet) begin(t *testing.T, id string) {
	t.Helper()
	n := startNode(t, "127.0.0.1")
	f.lives[id] = &life{n, startAgent(t, f.registry, id, "green", n.endpoint, n.quiet, f.agents)}
}

// deploy ends the life of green's node called id in order, and starts the next.
// During is called when the node has paused.
func (f *fleet) deploy(t *testing.T, id string, during func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	old := f.lives[id]
	require.NoError(t, old.agent.Pause(ctx, "deploy"))
	during()
	require.NoError(t, old.agent.Shutdown(ctx, "deploy"))
	old.server.Close()
	f.begin(t, id)
}

// load has clients send requests until the returned function is called, which
// tells how many there were and what became of those that failed.
func (f *fleet) load(t *testing.T) (end func() (requests int, failed []string)) {
	t.Helper()
	const clients, pace = 4, 10 * time.Millisecond
	var mu sync.Mutex // guards what follows
	var failed []string
	requests, done := 0, false
	note := func(err error) (goOn bool) {
		mu.Lock()
		defer mu.Unlock()
		requests++
		if err != nil {
			failed = append(failed, err.Error())
		}
		return !done
	}
	var running sync.WaitGroup
	for range clients {
		running.Go(func() {
			for i := 0; note(f.send(t.Context(), i)); i++ {
				time.Sleep(pace)
			}
		})
	}
	return func() (int, []string) {
		mu.Lock()
		done = true
		mu.Unlock()
		running.Wait()
		return requests, failed
	}
}

// send sends request number i, follows where it is led, and reports an answer
// that is not 200.
func (f *fleet) send(ctx context.Context, i int) error {
	method := []string{http.MethodGet, http.MethodPost}[i%2]
	req, err := http.NewRequestWithContext(ctx, method, fmt.Sprintf("%s/orders/%d", f.alb.URL(), i), strings.NewReader("an order"))
	if err != nil {
		return err
	}
	resp, err := followed.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, resp.Request.URL, resp.Status)
	}
	return nil
}

// followed is a client that follows redirects.
var followed = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: patience}
