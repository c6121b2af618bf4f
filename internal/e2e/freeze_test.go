package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/pkg/cluster"
)

// While the copies are frozen the registry drops their connections, as it does
// with idle ones, and changes. The first request of each copy sees the change:
// nothing stale would be forgiven here.
func TestConnectionsThatDiedInAFreezeCostNoRequest(t *testing.T) {
	const copies = 2
	w := newWorld(t, copies, unforgiving)
	w.pause(t, cluster.GroupTarget("blue"))
	w.register(t, "g0", "green", "http://g0.example.com")
	for tries := 0; w.function.Stats().ColdStarts < copies; tries++ {
		require.Less(t, tries, 100, "bursts until all copies run")
		w.burst(t, 4*copies, "g0.example.com")
	}

	client := w.rawRegistry(t)
	for round := 1; round <= 3; round++ {
		killed, err := client.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Result()
		require.NoError(t, err)
		require.GreaterOrEqual(t, killed, int64(copies), "connections of the copies")
		id := fmt.Sprintf("g%d", round)
		w.register(t, id, "green", "http://"+id+".example.com")
		w.pause(t, cluster.NodeTarget(fmt.Sprintf("g%d", round-1)))
		w.burst(t, 4*copies, id+".example.com")
	}
	assert.Equal(t, copies, w.function.Stats().ColdStarts)
}

// burst sends n requests at the same time and wants all of them redirected to
// host.
func (w *world) burst(t *testing.T, n int, host string) {
	t.Helper()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			resp, err := w.get(t.Context(), "/")
			if !assert.NoError(t, err) {
				return
			}
			assert.Equal(t, http.StatusTemporaryRedirect, resp.StatusCode)
			assert.Contains(t, resp.Header.Get("Location"), "http://"+host+"/?detour=")
		})
	}
	all.Wait()
}

// frozen is what happens to the function's connection while its only copy is
// frozen, and whether its first request after that is decided by what the
// registry holds then; else by what the copy knew.
type frozen struct {
	redis   []redistest.Option
	happens func(a *ailing)
	bent    map[string]string // of a function that is not as shipped; nil for the shipped one
	seen    bool
}

// Ten minutes are tried at a scale: the connection is silent for ten times as
// long as the function keeps an idle one. No process's wall clock can be moved by
// itself, so this function is built to keep one for 100 ms instead of a minute.
const (
	idleLimit = 100 * time.Millisecond
	silence   = 10 * idleLimit
)

func TestTheFirstRequestAfterALongFreezeIsAnswered(t *testing.T) {
	forget := func(a *ailing) {
		a.proxy.forget()
		time.Sleep(silence)
	}
	for name, f := range map[string]frozen{
		"the registry closed the connection":           {happens: func(a *ailing) { a.redis.DropClients() }, seen: true},
		"the registry closed the connection under TLS": {redis: []redistest.Option{redistest.WithTLS()}, happens: func(a *ailing) { a.redis.DropClients() }, seen: true},
		"a gateway forgot it, after ten idle limits":   {happens: forget, bent: map[string]string{bentIdle: idleLimit.String()}, seen: true},
		"a gateway forgot it, within the idle limit":   {happens: forget},
	} {
		t.Run(name, func(t *testing.T) {
			var a *ailing
			outage(func(t *testing.T, _ *world) error { return f.thaw(t, a) }).inTime(t, func() *world {
				a = newAiling(t, ailment{redis: f.redis})
				if f.bent != nil {
					maps.Copy(a.env, f.bent)
					a.function = a.host(t, bentFunction(t), 1, a.env)
				}
				return a.world
			})
		})
	}
}

func (f *frozen) thaw(t *testing.T, a *ailing) error {
	a.register(t, "g1", "green", "http://g1.example.com")
	for range 2 { // the second one finds a connection
		if err := a.expect(t.Context(), http.StatusTemporaryRedirect, "http://g1.example.com/"); err != nil {
			return fmt.Errorf("before: %w", err)
		}
	}
	f.happens(a)
	a.register(t, "g2", "green", "http://g2.example.com")
	a.pause(t, cluster.NodeTarget("g1"))
	if !f.seen {
		if err := a.expectInTime(t.Context(), http.StatusTemporaryRedirect, "http://g1.example.com/"); err != nil {
			return fmt.Errorf("the first request: %w", err)
		}
	}
	if err := a.expectInTime(t.Context(), http.StatusTemporaryRedirect, "http://g2.example.com/"); err != nil {
		return fmt.Errorf("after the freeze: %w", err)
	}
	return nil
}
