package e2e

import (
	"context"
	"encoding/json"
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

	"github.com/detourhq/detour/internal/locallambda"
	"github.com/detourhq/detour/pkg/cluster"
)

// unforgiving is a function that decides by nothing but the registry as it is.
var unforgiving = map[string]string{"DETOUR_STALE_IF_ERROR": "0s"}

// No request that begins after a pause was acknowledged, and ends before its end
// was asked for, is led to a paused node; not by any copy of the function.
func TestNoRequestIsLedToAPausedNode(t *testing.T) {
	const copies, enough = 8, 5_000
	w := newWorld(t, copies, unforgiving)
	h := w.quarrel(t, enough)

	broken, tried := h.check()
	assert.Empty(t, broken)
	assert.GreaterOrEqual(t, len(h.decisions), enough)
	assert.Greater(t, tried, enough/4, "decisions within a pause")
	assert.Len(t, h.led(), 2*writers+1, "every node was led to while it was not paused: %v", h.led())
	assert.Equal(t, copies, w.function.Stats().ColdStarts)
	t.Logf("%d decisions in %s, %d of them within one of %d pauses", len(h.decisions), h.now(), tried, len(h.pauses))
}

// A function that trusts what it knows already, and be it for 10 ms, is found out.
func TestTheCheckerFindsAFunctionThatDoesNotAsk(t *testing.T) {
	for _, trust := range []string{"1h", "10ms"} {
		t.Run("for "+trust, func(t *testing.T) {
			w := newWorld(t, 1, nil)
			w.function = w.host(t, bentFunction(t), 8, map[string]string{bentTrust: trust})
			var broken []string
			for tries := 0; len(broken) == 0; tries++ { // on a busy machine a copy may decide less often
				require.Less(t, tries, 20, "quarrels until it is found out")
				var tried int
				broken, tried = w.quarrel(t, 500).check()
				t.Logf("%d of %d decisions within a pause were wrong", len(broken), tried)
			}
		})
	}
}

// writers is how many pause and resume at the same time, each the two nodes of
// its own group. One node more, the spare, is never paused.
const writers = 8

// quarrel has all writers pause and resume while as many callers as there are
// writers keep the function deciding, until it has decided enough.
func (w *world) quarrel(t *testing.T, enough int64) *history {
	t.Helper()
	w.register(t, "spare", "spare", "http://spare.example.com")
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	h, sent, running := newHistory(), &atomic.Int64{}, &sync.WaitGroup{}
	for i := range writers {
		own := writer{w, h, fmt.Sprintf("g%d", i), nil}
		for _, n := range []string{"a", "b"} {
			id := own.group + n
			own.nodes = append(own.nodes, w.register(t, id, own.group, "http://"+id+".example.com"))
		}
		running.Go(func() { assert.NoError(t, own.pauseAtRandom(ctx, sent, enough)) })
	}
	for range writers {
		running.Go(func() {
			for sent.Add(1) <= enough {
				if !assert.NoError(t, decide(ctx, w.function, h)) {
					cancel()
					return
				}
			}
		})
	}
	running.Wait()
	return h
}

// decide calls a function once, without a load balancer in between that would
// only widen the spans.
func decide(ctx context.Context, function *locallambda.Host, h *history) error {
	var answer struct {
		Headers map[string]string `json:"headers"`
	}
	from := h.now()
	body, err := function.Invoke(ctx, []byte(event("GET", "/", "1", "")))
	to := h.now()
	if err != nil {
		return fmt.Errorf("call function: %w", err)
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	location, err := url.Parse(answer.Headers["Location"])
	if err != nil || location.Host == "" {
		return fmt.Errorf("redirected nowhere: %s: %w", body, err)
	}
	id, _, _ := strings.Cut(location.Host, ".")
	h.decided(deciding{span{from, to}, id})
	return nil
}

// writer pauses and resumes the nodes of a group that is its own.
type writer struct {
	*world
	history *history
	group   string
	nodes   []cluster.Descriptor
}

// pauseAtRandom pauses a node or the group as an operator does, or a node by its
// own report, again and again until enough decisions were asked for.
func (w *writer) pauseAtRandom(ctx context.Context, sent *atomic.Int64, enough int64) error {
	for sent.Load() < enough && ctx.Err() == nil {
		n := w.nodes[rand.IntN(len(w.nodes))]
		p := pausing{how: "by its report", nodes: []string{n.ID}}
		pause, resume := w.byReport(ctx, n)
		switch rand.IntN(3) {
		case 0:
			p.how = "by an operator"
			pause, resume = w.byOperator(ctx, cluster.NodeTarget(n.ID))
		case 1:
			p.how, p.nodes = "of its group", []string{w.nodes[0].ID, w.nodes[1].ID}
			pause, resume = w.byOperator(ctx, cluster.GroupTarget(w.group))
		}
		if err := pause(); err != nil {
			return fmt.Errorf("pause %s: %w", n.ID, err)
		}
		p.from = w.history.now()
		linger(ctx, sent, enough)
		p.to = w.history.now()
		if err := resume(); err != nil {
			return fmt.Errorf("resume %s: %w", n.ID, err)
		}
		w.history.paused(p)
		linger(ctx, sent, enough)
	}
	return nil
}

// linger returns when up to six more decisions per caller were asked for, however
// long they take, so that some lie in between; or when those are enough.
func linger(ctx context.Context, sent *atomic.Int64, enough int64) {
	until := min(sent.Load()+rand.Int64N(6*writers), enough)
	for sent.Load() < until {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}

func (w *writer) byOperator(ctx context.Context, target cluster.Target) (pause, resume func() error) {
	return func() error {
			_, err := w.registry.Pause(ctx, target, cluster.PauseRequest{Mode: cluster.Redirect})
			return err
		}, func() error {
			_, _, err := w.registry.Resume(ctx, target, "", "")
			return err
		}
}

func (w *writer) byReport(ctx context.Context, n cluster.Descriptor) (pause, resume func() error) {
	report := func(s cluster.Status) func() error {
		return func() error {
			_, err := w.registry.Report(ctx, n.ID, cluster.Report{Generation: n.Generation, Status: s})
			return err
		}
	}
	return report(cluster.Paused), report(cluster.Active)
}
