package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// span is a stretch of this process's monotonic clock: of a pause, from its
// acknowledgement until its end is asked for; of a request, from just before it
// is sent until its answer is there. The node is that which was paused or led to.
type span struct {
	node     string
	from, to time.Time
}

// within reports whether s lies in o entirely.
func (s span) within(o span) bool { return !s.from.Before(o.from) && !s.to.After(o.to) }

// history is what has happened so far.
type history struct {
	mu               sync.Mutex
	pauses, requests []span
}

func (h *history) paused(s span) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pauses = append(h.pauses, s)
}

func (h *history) led(s span) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = append(h.requests, s)
}

// check returns the requests that were led to a node that was paused all the
// while, and how many lie within a pause of any node: those that could break
// the promise.
func (h *history) check() (broken []string, tried int) {
	for _, r := range h.requests {
		during := false
		for _, p := range h.pauses {
			if !r.within(p) {
				continue
			}
			during = true
			if r.node == p.node {
				broken = append(broken, fmt.Sprintf("led to %s %s after its pause, %s before its end",
					r.node, r.from.Sub(p.from), p.to.Sub(r.to)))
			}
		}
		if during {
			tried++
		}
	}
	return broken, tried
}

// No request that begins after a pause was acknowledged, and ends before its end
// was asked for, is led to the paused node; not by any copy of the function.
func TestNoRequestIsLedToAPausedNode(t *testing.T) {
	const writers, clients, enough = 4, 6, 2000
	w := newWorld(t, 3, map[string]string{"DETOUR_STALE_IF_ERROR": "0s"})
	w.register(t, "spare", "green", "http://spare.example.com")
	var nodes []cluster.Descriptor
	for i := range 2 * writers {
		id := fmt.Sprintf("n%d", i)
		nodes = append(nodes, w.register(t, id, "green", "http://"+id+".example.com"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	h, sent, running := &history{}, &atomic.Int64{}, &sync.WaitGroup{}
	for i := range writers {
		running.Go(func() { assert.NoError(t, w.pauseAtRandom(ctx, h, nodes[2*i:2*i+2], sent, enough)) })
	}
	for range clients {
		running.Go(func() { assert.NoError(t, w.requestUntil(ctx, h, sent, enough)) })
	}
	running.Wait()

	broken, tried := h.check()
	assert.Empty(t, broken)
	assert.GreaterOrEqual(t, len(h.requests), enough)
	assert.Greater(t, tried, enough/10, "requests within a pause")
	led := map[string]int{}
	for _, r := range h.requests {
		led[r.node]++
	}
	assert.Len(t, led, len(nodes)+1, "every node was led to while it was not paused: %v", led)
	t.Logf("%d requests, %d of them within one of %d pauses", len(h.requests), tried, len(h.pauses))
}

// pauseAtRandom pauses and resumes its own nodes, by an operator's pause or by
// the node's own report, until enough requests were sent.
func (w *world) pauseAtRandom(ctx context.Context, h *history, nodes []cluster.Descriptor, sent *atomic.Int64, enough int64) error {
	for sent.Load() < enough {
		n := nodes[rand.IntN(len(nodes))]
		pause, resume := w.byOperator(ctx, n)
		if rand.IntN(2) == 0 {
			pause, resume = w.byReport(ctx, n)
		}
		if err := pause(); err != nil {
			return fmt.Errorf("pause %s: %w", n.ID, err)
		}
		acknowledged := time.Now()
		linger(ctx)
		ends := time.Now()
		if err := resume(); err != nil {
			return fmt.Errorf("resume %s: %w", n.ID, err)
		}
		h.paused(span{n.ID, acknowledged, ends})
		linger(ctx)
	}
	return nil
}

// linger lets up to 40 ms pass, so that some requests fall in between.
func linger(ctx context.Context) {
	select {
	case <-time.After(rand.N(40 * time.Millisecond)):
	case <-ctx.Done():
	}
}

func (w *world) byOperator(ctx context.Context, n cluster.Descriptor) (pause, resume func() error) {
	target := cluster.NodeTarget(n.ID)
	return func() error {
			_, err := w.registry.Pause(ctx, target, cluster.PauseRequest{Mode: cluster.Redirect})
			return err
		}, func() error {
			_, _, err := w.registry.Resume(ctx, target, "", "")
			return err
		}
}

func (w *world) byReport(ctx context.Context, n cluster.Descriptor) (pause, resume func() error) {
	report := func(s cluster.Status) func() error {
		return func() error {
			_, err := w.registry.Report(ctx, n.ID, cluster.Report{Generation: n.Generation, Status: s})
			return err
		}
	}
	return report(cluster.Paused), report(cluster.Active)
}

// requestUntil sends one request after the other until enough were sent by all.
func (w *world) requestUntil(ctx context.Context, h *history, sent *atomic.Int64, enough int64) error {
	for sent.Add(1) <= enough {
		began := time.Now()
		resp, err := w.get(ctx, "/")
		if err != nil {
			return err
		}
		ended := time.Now()
		to, err := url.Parse(resp.Header.Get("Location"))
		if err != nil || to.Host == "" {
			return fmt.Errorf("redirected nowhere: status %d, Location %q: %w", resp.StatusCode, to, err)
		}
		id, _, _ := strings.Cut(to.Host, ".")
		h.led(span{id, began, ended})
	}
	return nil
}

func TestTheCheckerSeesABrokenPromise(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(0, 0).Add(time.Duration(ms) * time.Millisecond) }
	for name, row := range map[string]struct {
		request span
		broken  bool
		tried   int
	}{
		"within the pause of its node":   {span{"n1", at(10), at(20)}, true, 1},
		"within the pause of another":    {span{"n2", at(11), at(19)}, false, 1},
		"begun before the pause":         {span{"n1", at(9), at(15)}, false, 0},
		"ended after the pause":          {span{"n1", at(15), at(21)}, false, 0},
		"long before and after the same": {span{"n1", at(1), at(30)}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := history{pauses: []span{{"n1", at(10), at(20)}}, requests: []span{row.request}}
			broken, tried := h.check()
			require.Equal(t, row.broken, len(broken) > 0)
			require.Equal(t, row.tried, tried)
		})
	}
}
