package main

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/config"
	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/redirect"
)

// onHold is a source whose group blue is on hold from the start until resumed.
type onHold struct {
	mu      sync.Mutex // guards the following
	now     *cluster.Snapshot
	err     error
	counted map[string]int
}

func (s *onHold) Snapshot(context.Context) (*cluster.Snapshot, cluster.Origin, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.now, cluster.LastKnown, s.err
	}
	return s.now, cluster.FromRegistry, nil
}

func (s *onHold) Count(_ cluster.Millis, names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range names {
		s.counted[n]++
	}
}

func (s *onHold) set(now *cluster.Snapshot, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now != nil {
		s.now = now
	}
	s.err = err
}

// room is the places of held requests.
type room struct {
	mu   sync.Mutex // guards the following
	free int
	held map[string]cluster.Place
	err  error
}

func (r *room) Hold(_ context.Context, now cluster.Millis, p cluster.Place, most, _ int) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil || len(r.held) >= min(r.free, most) || p.Until <= now {
		return false, r.err
	}
	r.held[p.ID] = p
	return true, nil
}

func (r *room) Release(_ context.Context, p cluster.Place) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.held, p.ID)
	return r.err
}

// snapshotOf is a registry with one node in each of blue and green, and pauses.
func snapshotOf(t *testing.T, epoch int64, pauses map[cluster.Target]cluster.Pause) *cluster.Snapshot {
	t.Helper()
	s, err := cluster.Static([]string{"https://blue-1.example.com", "https://green-1.example.com"}, time.Now())
	require.NoError(t, err)
	s.Epoch, s.Pauses = epoch, pauses
	s.Nodes[0].Group, s.Nodes[1].Group = "blue", "green"
	s.Groups = map[string]cluster.Group{"blue": {ID: "blue", Hosts: []string{"app.example.com"}}}
	return s
}

const holdMax = 4 * time.Second

// holding returns a handler whose group blue is on hold.
func holding(t *testing.T) (*handler, *onHold, *room) {
	t.Helper()
	s := &onHold{counted: make(map[string]int)}
	s.now = snapshotOf(t, 1, map[cluster.Target]cluster.Pause{cluster.GroupTarget("blue"): {Mode: cluster.Hold}})
	places := &room{free: 1000, held: make(map[string]cluster.Place)}
	return &handler{
		source:   s,
		redirect: redirect.New(redirect.Config{MaxRedirects: 3, RetryAfter: 5 * time.Second}, globalRandom{}),
		patience: patience{
			Patience: config.Patience{HoldMax: holdMax, HoldLimit: 300, HoldPerSource: 300},
			places:   places, budget: 250 * time.Millisecond,
		},
		wall: time.Now, log: slog.New(slog.DiscardHandler),
	}, s, places
}

// ask sends a request that is meant for blue, and returns what decided it and
// after how long.
func ask(ctx context.Context, h *handler) (redirect.Decision, time.Duration) {
	began := time.Now()
	d := h.decide(ctx, &redirect.Request{Method: http.MethodGet, Path: "/", Header: redirect.Header{
		{Name: "Host", Value: "app.example.com"}, {Name: "X-Forwarded-For", Value: "192.0.2.1"}, {Name: "X-Forwarded-Proto", Value: "https"},
	}})
	return d, time.Since(began)
}

func TestAHeldRequestGoesWhenItsGroupIsResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s, places := holding(t)
		time.AfterFunc(3*time.Second, func() { s.set(snapshotOf(t, 2, nil), nil) })
		d, took := ask(t.Context(), h)
		require.Equal(t, 307, d.Status)
		assert.Equal(t, "blue", d.Node.Group, "the group that it was meant for")
		assert.GreaterOrEqual(t, took, 3*time.Second)
		assert.LessOrEqual(t, took, holdMax)
		assert.Empty(t, places.held, "the place was given back")
		assert.Equal(t, map[string]int{"held": 1, "redirected": 1, "origin:blue": 2, "node:" + d.Node.ID: 1}, s.counted)
	})
}

// kedacore/http-add-on#1449: the limit of a wait was not kept.
func TestAHoldEndsAtItsLimitAndGoesToPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _, places := holding(t)
		d, took := ask(t.Context(), h)
		require.Equal(t, 307, d.Status)
		assert.Equal(t, "green", d.Node.Group, "as with mode redirect")
		assert.Equal(t, holdMax, took)
		assert.Empty(t, places.held)
	})
}

func TestAHoldNeverOutlastsTheFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _, _ := holding(t)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		d, took := ask(ctx, h)
		require.Equal(t, 307, d.Status)
		assert.Equal(t, 2*time.Second-answerRoom, took)

		ctx, cancel = context.WithTimeout(t.Context(), answerRoom)
		defer cancel()
		_, took = ask(ctx, h)
		assert.Zero(t, took, "there is no time to wait")
	})
}

func TestNobodyIsHeldWhereNothingIsToBeWaitedFor(t *testing.T) {
	for name, change := range map[string]func(h *handler, s *onHold, r *room){
		"holding is switched off":    func(h *handler, _ *onHold, _ *room) { h.patience.HoldMax = 0 },
		"there is no registry":       func(h *handler, _ *onHold, _ *room) { h.patience.places = nil },
		"every place is taken":       func(_ *handler, _ *onHold, r *room) { r.free = 0 },
		"places cannot be taken":     func(_ *handler, _ *onHold, r *room) { r.err = errDown },
		"the registry is lost":       func(_ *handler, s *onHold, _ *room) { s.err = errDown },
		"the group is not on hold":   func(_ *handler, s *onHold, _ *room) { s.now.Pauses = nil },
		"it is stopped, and no less": func(_ *handler, s *onHold, _ *room) { s.now.Pauses[cluster.All] = cluster.Pause{Mode: cluster.Stop} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, s, r := holding(t)
				change(h, s, r)
				_, took := ask(t.Context(), h)
				assert.Zero(t, took)
				assert.Zero(t, s.counted["held"])
			})
		})
	}
}

func TestAHoldOutlivesARegistryThatFailsForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s, _ := holding(t)
		time.AfterFunc(time.Second, func() { s.set(nil, errDown) })
		time.AfterFunc(2*time.Second, func() { s.set(snapshotOf(t, 2, nil), nil) })
		d, took := ask(t.Context(), h)
		assert.Equal(t, "blue", d.Node.Group)
		assert.GreaterOrEqual(t, took, 2*time.Second)
	})
}

// A group that is put on hold again before its turn keeps the request.
func TestWhoWaitsForItsTurnDecidesOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s, _ := holding(t)
		paused := s.now
		for at := time.Second; at < holdMax; at += time.Second {
			time.AfterFunc(at, func() { s.set(snapshotOf(t, 2, nil), nil) })
			time.AfterFunc(at+lookEvery, func() { s.set(paused, nil) })
		}
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				d, took := ask(t.Context(), h)
				if took < holdMax {
					assert.Equal(t, "blue", d.Node.Group)
				} else {
					assert.Equal(t, "green", d.Node.Group, "it was on hold at the end")
				}
			})
		}
		all.Wait()
	})
}

// knative/serving#2381, haproxy/haproxy#2744: all that waited came at once.
func TestHeldRequestsAreReleasedOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s, _ := holding(t)
		const clients, resumed = 200, 3 * time.Second
		time.AfterFunc(resumed, func() { s.set(snapshotOf(t, 2, nil), nil) })
		ends := make([]time.Duration, clients)
		var all sync.WaitGroup
		for i := range ends {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				began := time.Now()
				d, _ := ask(t.Context(), h)
				assert.Equal(t, 307, d.Status)
				ends[i] = time.Since(began) + time.Duration(i)*time.Millisecond - resumed
			})
		}
		all.Wait()
		slots := make(map[time.Duration]int)
		for _, end := range ends {
			slots[end/(100*time.Millisecond)]++
		}
		for slot, n := range slots {
			assert.LessOrEqual(t, n, 60, "within the 100 ms from %s on; 18 are expected", slot*100*time.Millisecond)
		}
		assert.Greater(t, len(slots), 5)
	})
}
