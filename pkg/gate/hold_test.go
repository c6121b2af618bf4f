package gate

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/pkg/cluster"
)

// crowd sends requests that may wait, and notes when each was answered.
type crowd struct {
	h     http.Handler
	began time.Time

	mu      sync.Mutex // guards the following
	answers map[int][]time.Duration
}

func newCrowd(h http.Handler) *crowd {
	return &crowd{h: h, began: time.Now(), answers: make(map[int][]time.Duration)}
}

// send sends n requests of one client each.
func (c *crowd) send(n int, source string) {
	for range n {
		go func() {
			code := ask(c.h, "POST", "http://app.example.com/cart", "X-Forwarded-For", "198.51.100.1, "+source).Code
			c.mu.Lock()
			defer c.mu.Unlock()
			c.answers[code] = append(c.answers[code], time.Since(c.began))
		}()
	}
	synctest.Wait()
}

func (c *crowd) of(code int) []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.answers[code])
}

// running returns a gate of n1 that Run keeps up to date until the test ends.
func (w *world) running(change ...func(*Config)) (*Gate, http.Handler) {
	g, h := w.guarded(change...)
	go g.Run(w.t.Context())
	synctest.Wait()
	return g, h
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

var hold = cluster.Pause{Mode: cluster.Hold}

func TestAPauseIsObeyedWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "n1", "n2")
		g, h := w.running(func(c *Config) { c.Every = time.Hour })
		w.pause("node:n1", cluster.Pause{})
		pass(time.Second)
		assert.Equal(t, 307, ask(h, "GET", "/").Code)
		assert.EqualValues(t, 2, g.Figures().SeenEpoch)
		w.resume("node:n1")
		pass(time.Second)
		assert.Equal(t, 200, ask(h, "GET", "/").Code)
		w.pause("node:n1", cluster.Pause{Until: later(5 * time.Second)})
		pass(4 * time.Second)
		assert.Equal(t, 307, ask(h, "GET", "/").Code)
		pass(2 * time.Second)
		assert.Equal(t, 200, ask(h, "GET", "/").Code)
	})
}

func TestHeldRequestsAreLetInAfterTheResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "n1", "n2")
		w.pause("node:n1", hold)
		g, h := w.running(func(c *Config) { c.HoldMax, c.MaxHeld, c.HeldPerSource = 8*time.Second, 200, 100 })
		c := newCrowd(h)
		c.send(100, "192.0.2.1")
		pass(3 * time.Second)
		assert.Empty(t, c.answers)
		assert.Zero(t, g.Figures().InFlight, "who waits is not in flight")
		assert.EqualValues(t, 100, g.Figures().Arrivals)
		w.resume("node:n1")
		pass(2 * time.Second)
		let := c.of(200)
		assert.Len(t, let, 100)
		// Half a house is spread over half of a quarter of HoldMax (knative/serving#2381).
		slices.Sort(let)
		assert.Less(t, let[99], 4500*time.Millisecond)
		assert.Greater(t, let[99]-let[0], 500*time.Millisecond)
		assert.Less(t, let[50]-let[0], 800*time.Millisecond, "and not all at its end")
	})
}

func TestPatienceEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*world)
		want int
		at   time.Duration
	}{
		{"of a hold with a redirect", func(w *world) { w.pause("node:n1", hold) }, 307, 2 * time.Second},
		{"of a hold of all with 503", func(w *world) { w.pause("all", hold) }, 503, 2 * time.Second},
		{"of a start with 503", func(w *world) { w.report(cluster.Starting) }, 503, time.Second},
		{"and nobody has any in a stop", func(w *world) { w.pause("node:n1", cluster.Pause{Mode: cluster.Stop}) }, 307, 0},
		{"nor where the node starts and is paused", func(w *world) {
			w.report(cluster.Starting)
			w.pause("node:n1", cluster.Pause{})
		}, 307, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "n1", "n2")
				c.do(w)
				_, h := w.running(func(c *Config) { c.HoldMax, c.StartHold = 2*time.Second, time.Second })
				crowd := newCrowd(h)
				crowd.send(1, "192.0.2.1")
				pass(10 * time.Second)
				// Not later than that (kedacore/http-add-on#1449).
				assert.Equal(t, map[int][]time.Duration{c.want: {c.at}}, crowd.answers)
			})
		})
	}
}

func TestAStartedNodeTakesWhoWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "n1", "n2")
		w.report(cluster.Starting)
		_, h := w.running()
		c := newCrowd(h)
		c.send(3, "192.0.2.1")
		pass(5 * time.Second)
		w.report(cluster.Active)
		pass(time.Second)
		assert.Len(t, c.of(200), 3)
	})
}

func TestWhoFindsNoPlaceDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "n1", "n2")
		w.pause("node:n1", hold)
		g, h := w.running(func(c *Config) { c.MaxHeld, c.HeldPerSource = 10, 4 })
		c := newCrowd(h)
		c.send(6, "192.0.2.1") // kubernetes/ingress-nginx#6508: one source does not take all places
		assert.Len(t, c.of(307), 2)
		c.send(4, "192.0.2.2")
		c.send(4, "192.0.2.3")
		assert.Len(t, c.of(307), 4, "knative/serving#13583: a full house takes nobody")
		assert.EqualValues(t, 1, g.room.fullness())
		pass(time.Minute)
		assert.Len(t, c.of(307), 14)
		assert.Zero(t, g.room.fullness())
		assert.Empty(t, g.room.sources)
	})
}

func TestAClientThatGoesLeavesItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "n1", "n2")
		w.pause("node:n1", hold)
		g, h := w.running()
		ctx, cancel := context.WithCancel(t.Context())
		go h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/", nil))
		synctest.Wait()
		assert.NotZero(t, g.room.fullness())
		cancel()
		synctest.Wait()
		assert.Zero(t, g.room.fullness())
	})
}

func TestAHoldThatBecomesHarsherEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "n1", "n2")
		w.pause("node:n1", hold)
		_, h := w.running()
		c := newCrowd(h)
		c.send(1, "192.0.2.1")
		w.pause("node:n1", cluster.Pause{Mode: cluster.Stop})
		pass(time.Second)
		assert.Len(t, c.of(307), 1)
	})
}

func TestTheGapIsThatOfTheMinuteBeforeThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "n1", "n2")
		g, h := w.running()
		for range 60 {
			ask(h, "GET", "/")
			pass(time.Second)
		}
		w.pause("node:n1", cluster.Pause{})
		pass(time.Second)
		during := g.Figures().Gap
		assert.InDelta(t, 1000, int64(during), 50)
		for range 100 {
			ask(h, "GET", "/")
		}
		pass(5 * time.Minute)
		assert.Equal(t, during, g.Figures().Gap)
		w.resume("node:n1")
		pass(time.Second)
		assert.Zero(t, g.Figures().Gap)
	})
}
