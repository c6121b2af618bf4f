package e2e

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// crowd is a number of clients that send one request each, and when each of them
// was let go.
type crowd struct {
	url  string
	all  sync.WaitGroup
	mu   sync.Mutex // guards the following
	went []time.Time
	bad  []string
}

// send sends one request, which is expected to end at a node.
func (c *crowd) send(ctx context.Context, path string) {
	client := http.Client{
		Timeout: 2 * patience,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.went = append(c.went, time.Now())
			return nil
		},
	}
	c.all.Go(func() {
		bad := ""
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+path, strings.NewReader(path))
		if err == nil {
			var resp *http.Response
			if resp, err = client.Do(req); err == nil {
				_ = resp.Body.Close()
			}
			if err == nil && resp.StatusCode != http.StatusOK {
				bad = resp.Status
			}
		}
		if err != nil {
			bad = err.Error()
		}
		if bad != "" {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.bad = append(c.bad, bad)
		}
	})
}

// densest is the largest number of clients that were let go within any span.
func (c *crowd) densest(span time.Duration) (most int) {
	slices.SortFunc(c.went, time.Time.Compare)
	first := 0
	for i, at := range c.went {
		for at.Sub(c.went[first]) >= span {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// Each held request occupies a copy of the function of its own.
func TestACrowdThroughAHoldLosesNothing(t *testing.T) {
	const clients, held = 200, time.Second
	w := newWorld(t, clients, map[string]string{
		"DETOUR_HOLD_MAX": "20s", "DETOUR_HOLD_LIMIT": "300", "DETOUR_HOLD_PER_SOURCE": "300",
	})
	blue, green := startNode(t, "127.0.0.2"), startNode(t, "127.0.0.3")
	w.register(t, "blue-1", "blue", blue.endpoint)
	w.register(t, "green-1", "green", green.endpoint)
	target := cluster.GroupTarget("blue")
	_, err := w.registry.Pause(t.Context(), target, cluster.PauseRequest{Mode: cluster.Hold})
	require.NoError(t, err)

	raw, err := cluster.Dial(w.url, patience)
	require.NoError(t, err)
	t.Cleanup(func() { _ = raw.Close() })
	places := func() int64 { return raw.ZCard(t.Context(), "{detour:"+clusterName+"}:holds").Val() }
	c := crowd{url: w.alb.URL()}
	for i := range clients {
		c.send(t.Context(), "/order/"+strconv.Itoa(i))
	}
	require.Eventually(t, func() bool { return places() == clients }, patience, 10*time.Millisecond, "all are held")
	time.Sleep(held)
	require.Empty(t, c.went, "before the resume nobody goes")
	resumed := time.Now()
	_, _, err = w.registry.Resume(t.Context(), target, "ops", "")
	require.NoError(t, err)
	c.all.Wait()

	assert.Empty(t, c.bad)
	assert.Len(t, blue.take(), clients, "each at the group that it was meant for")
	assert.Empty(t, green.take())
	assert.LessOrEqual(t, c.densest(100*time.Millisecond), 100)
	assert.Zero(t, places())
	t.Logf("%d clients went within %s, at most %d of them in 100 ms", clients, time.Since(resumed), c.densest(100*time.Millisecond))
}
