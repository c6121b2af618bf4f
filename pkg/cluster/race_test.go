package cluster_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/pkg/cluster"
)

// crowd is many at once on one registry, and what is true of them. Each of its
// goroutines has connections of its own, as processes do.
type crowd struct {
	t      *testing.T
	url    string
	raw    redis.UniversalClient
	active atomic.Int64 // goroutines that are not through

	mu    sync.Mutex // guards the following
	left  map[cluster.Generation]bool
	heard map[cluster.Generation][2]time.Time // when the last pulse that was taken was sent, and answered
}

func (c *crowd) registry() *cluster.Registry {
	client, err := cluster.Dial(c.url, budget)
	if !assert.NoError(c.t, err) {
		return nil
	}
	r, err := cluster.NewRegistry(client, "test")
	assert.NoError(c.t, err)
	c.t.Cleanup(func() { _ = r.Close() })
	return r
}

// expected reports whether an answer is one that a node gets in such a crowd.
func (c *crowd) expected(err error) bool {
	ok := err == nil || errors.Is(err, cluster.ErrUnknown) || errors.Is(err, cluster.ErrLeft) || errors.Is(err, cluster.ErrSuperseded)
	return assert.True(c.t, ok, "%v", err)
}

// live is one process that starts, pulses, reports and leaves, again and again,
// under an id that it shares with others.
func (c *crowd) live(r *cluster.Registry, id string, random *rand.Rand, steps int) {
	ctx := c.t.Context()
	d := node(id)
	for range steps {
		if d.Generation == "" {
			d.Version = fmt.Sprint(random.IntN(4))
			got, _, err := r.Register(ctx, d, active)
			if c.expected(err); err == nil {
				d = got
			}
			continue
		}
		var err error
		switch random.IntN(10) {
		case 0:
			if _, err = r.Leave(ctx, id, d.Generation); err == nil {
				c.mu.Lock()
				c.left[d.Generation] = true
				c.mu.Unlock()
				_, err = r.Pulse(ctx, id, d.Generation, nil) // one that is late
				assert.True(c.t, errors.Is(err, cluster.ErrLeft) || errors.Is(err, cluster.ErrSuperseded), "%v", err)
			}
		case 1:
			_, err = r.Report(ctx, id, cluster.Report{Generation: d.Generation, Status: []cluster.Status{cluster.Active, cluster.Paused}[random.IntN(2)]})
		case 2:
			_, _, err = r.Register(ctx, d, active)
		default:
			sent := time.Now()
			if _, err = r.Pulse(ctx, id, d.Generation, &cluster.Figures{Arrivals: random.Int64N(1000)}); err == nil {
				c.mu.Lock()
				c.heard[d.Generation] = [2]time.Time{sent, time.Now()}
				c.mu.Unlock()
			}
		}
		if c.expected(err); errors.Is(err, cluster.ErrLeft) || errors.Is(err, cluster.ErrSuperseded) {
			d.Generation, d.Started = "", 0
		}
	}
}

// sweep prunes whoever is silent for the blink of an eye, and holds it against
// who was heard.
func (c *crowd) sweep(r *cluster.Registry, token string) (pruned int) {
	ctx := c.t.Context()
	for c.active.Load() > 0 {
		l, err := r.AcquireLease(ctx, token, time.Second)
		if errors.Is(err, cluster.ErrHeld) {
			continue
		}
		if !assert.NoError(c.t, err) {
			return pruned
		}
		s, err := r.Snapshot(ctx, time.Now)
		if !assert.NoError(c.t, err) {
			return pruned
		}
		read := time.Now()
		lives := make(map[string]cluster.Generation)
		var silent []cluster.Node
		for _, n := range s.Nodes {
			if s.Time > n.Pulse+1 {
				silent = append(silent, n)
				lives[n.ID] = n.Generation
			}
		}
		_, err = r.Mend(ctx, l, s)
		assert.NoError(c.t, err)
		_, err = r.Tidy(ctx, l, cluster.SweepNotes{At: s.Time, Epoch: s.Epoch}, []cluster.Target{cluster.All})
		assert.NoError(c.t, err)
		begun := time.Now()
		c.mu.Lock()
		heard := make(map[cluster.Generation][2]time.Time)
		for _, g := range lives {
			heard[g] = c.heard[g]
		}
		c.mu.Unlock()
		gone, err := r.Prune(ctx, l, silent)
		assert.NoError(c.t, err)
		for _, id := range gone {
			pulse := heard[lives[id]]
			assert.False(c.t, pulse[0].After(read) && pulse[1].Before(begun), "%s pulsed since it was read, and was pruned", id)
		}
		pruned += len(gone)
		assert.NoError(c.t, r.ReleaseLease(ctx, l))
	}
	return pruned
}

// operate pauses and resumes, and counts in a group's record.
func (c *crowd) operate(r *cluster.Registry, random *rand.Rand, steps int) (counted int) {
	ctx := c.t.Context()
	for range steps {
		target := []cluster.Target{cluster.All, cluster.GroupTarget("blue"), cluster.NodeTarget("n1")}[random.IntN(3)]
		p, err := r.Pause(ctx, target, cluster.PauseRequest{For: time.Duration(random.IntN(3)) * time.Millisecond})
		assert.NoError(c.t, err)
		if random.IntN(2) == 0 {
			e, _, err := r.Resume(ctx, target, "ops", "")
			assert.NoError(c.t, err)
			assert.GreaterOrEqual(c.t, e, p.Epoch)
			_, err = r.Reassert(ctx, target, p, "n1")
			assert.NoError(c.t, err)
		}
		_, err = r.ChangeGroup(ctx, "blue", func(g *cluster.Group) error { g.Title += "x"; return nil })
		if assert.True(c.t, err == nil || errors.Is(err, cluster.ErrConflict), "%v", err); err == nil {
			counted++
		}
	}
	return counted
}

// Ten processes under three ids, two sweepers and two operators at once: whenever
// one looks, the registry is whole.
func TestTheRegistryIsWholeAmidACrowd(t *testing.T) {
	seed := seeds(t)[0]
	c := &crowd{t: t, url: redistest.Start(t).URL, left: make(map[cluster.Generation]bool), heard: make(map[cluster.Generation][2]time.Time)}
	c.raw = c.registryClient()
	const steps = 250
	var working, watching sync.WaitGroup
	var pruned, counted atomic.Int64
	work := func(do func(r *cluster.Registry, random *rand.Rand)) {
		r, random := c.registry(), rand.New(rand.NewPCG(seed, uint64(c.active.Add(1))))
		working.Go(func() {
			defer c.active.Add(-1)
			do(r, random)
		})
	}
	for i := range 10 {
		id := []string{"n1", "n1", "n1", "n1", "n1", "n1", "n2", "n2", "n3", "n4"}[i]
		work(func(r *cluster.Registry, random *rand.Rand) { c.live(r, id, random, steps) })
	}
	for range 2 {
		work(func(r *cluster.Registry, random *rand.Rand) { counted.Add(int64(c.operate(r, random, steps/4))) })
	}
	for _, token := range []string{"a", "b"} {
		r := c.registry()
		watching.Go(func() { pruned.Add(int64(c.sweep(r, token))) })
	}
	var looks int
	watching.Go(func() { looks = c.watch() })
	working.Wait()
	watching.Wait()

	assert.Positive(t, pruned.Load(), "nobody was pruned: the test has lost its meaning")
	assert.Greater(t, looks, 50)
	assert.Greater(t, len(c.left), 10)
	g := snapshot(t, c.registry()).Groups["blue"]
	assert.Len(t, g.Title, int(counted.Load()), "no change of a group is lost")
}

func (c *crowd) registryClient() redis.UniversalClient {
	c.t.Helper()
	raw, err := cluster.Dial(c.url, budget)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { _ = raw.Close() })
	return raw
}
