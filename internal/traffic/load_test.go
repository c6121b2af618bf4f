package traffic

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gated is a server whose answers wait until open is called.
type gated struct {
	*httptest.Server
	arrived, inFlight, most atomic.Int64
	open                    func()
}

func newGated(t *testing.T) *gated {
	t.Helper()
	var g gated
	gate := make(chan struct{})
	g.open = sync.OnceFunc(func() { close(gate) })
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.arrived.Add(1)
		g.most.Store(max(g.most.Load(), g.inFlight.Add(1)))
		defer g.inFlight.Add(-1)
		<-gate
		(&Node{}).ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		g.open()
		g.Close()
	})
	return &g
}

func TestRequestsAreSentWhetherOrNotOthersAreAnswered(t *testing.T) {
	g := newGated(t)
	tl := NewTally(time.Now())
	l := NewLoad(g.URL, 1000, groups, tl, func() string { return "" })
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		l.Run(within(t, patience), stop)
	}()
	require.Eventually(t, func() bool { return g.arrived.Load() >= 100 }, patience, time.Millisecond)
	assert.Zero(t, tl.Counts().Requests, "nothing was answered yet")
	require.Eventually(t, func() bool { return g.inFlight.Load() == maxInFlight }, patience, time.Millisecond)
	g.open()
	require.Eventually(t, func() bool { return tl.Counts().Requests > maxInFlight }, patience, time.Millisecond)
	close(stop)
	<-ended
	assert.Equal(t, int(g.arrived.Load()), tl.Counts().OK, "what was sent before the stop was answered and counted")
	assert.LessOrEqual(t, g.most.Load(), int64(maxInFlight))
}

func TestWhatAnEndedContextCutsOffIsNotCounted(t *testing.T) {
	g := newGated(t)
	tl := NewTally(time.Now())
	ctx, cancel := context.WithCancel(within(t, patience))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		NewLoad(g.URL, 1000, groups, tl, func() string { return "" }).Run(ctx, nil)
	}()
	require.Eventually(t, func() bool { return g.arrived.Load() >= 10 }, patience, time.Millisecond)
	cancel()
	<-ended
	assert.Zero(t, tl.Counts().Requests)
}

func TestTheRateHolds(t *testing.T) {
	node := httptest.NewServer(&Node{})
	defer node.Close()
	tl := NewTally(time.Now())
	stop := make(chan struct{})
	began := time.Now()
	time.AfterFunc(500*time.Millisecond, func() { close(stop) })
	NewLoad(node.URL, 200, groups, tl, func() string { return "" }).Run(within(t, patience), stop)
	assert.LessOrEqual(t, tl.Counts().Requests, int(200*time.Since(began).Seconds()))
	assert.GreaterOrEqual(t, tl.Counts().Requests, 50, "half of what was due, on a machine however busy")
}
