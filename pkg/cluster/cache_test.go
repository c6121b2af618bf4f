package cluster

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeRegistry counts what it is asked, and can fail or take its time.
type fakeRegistry struct {
	mu                     sync.Mutex
	epoch                  int64
	nodes                  []Node
	err                    error
	takes                  time.Duration
	epochs, reloads, pulse int
	counted                map[string]int64
}

func (f *fakeRegistry) ask(ctx context.Context, n *int) (int64, []Node, error) {
	f.mu.Lock()
	*n++
	epoch, nodes, err, takes := f.epoch, f.nodes, f.err, f.takes
	f.mu.Unlock()
	select {
	case <-time.After(takes):
		return epoch, nodes, err
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
}

func (f *fakeRegistry) Epoch(ctx context.Context, c Counts) (int64, error) {
	f.mu.Lock()
	if f.counted == nil {
		f.counted = make(map[string]int64)
	}
	for name, n := range c.by {
		f.counted[name] += n
	}
	f.mu.Unlock()
	epoch, _, err := f.ask(ctx, &f.epochs)
	return epoch, err
}

func (f *fakeRegistry) Snapshot(ctx context.Context, wall func() time.Time) (*Snapshot, error) {
	epoch, nodes, err := f.ask(ctx, &f.reloads)
	if err != nil {
		return nil, err
	}
	return &Snapshot{Epoch: epoch, Nodes: nodes, Time: Millis(wall().UnixMilli()), ReadAt: wall()}, nil
}

func (f *fakeRegistry) Aged(ctx context.Context, s *Snapshot, wall func() time.Time) (*Snapshot, error) {
	if _, _, err := f.ask(ctx, &f.pulse); err != nil {
		return nil, err
	}
	aged := *s
	aged.Time, aged.ReadAt = Millis(wall().UnixMilli()), wall()
	return &aged, nil
}

func (f *fakeRegistry) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

var errDown = errors.New("refused")

func testConfig() CacheConfig {
	return CacheConfig{Budget: 250 * time.Millisecond, PulseEvery: 5 * time.Second, StaleIfError: 5 * time.Minute}
}

// inBubble runs test with fake time, a registry of one node and a cache of it.
func inBubble(t *testing.T, c CacheConfig, test func(t *testing.T, f *fakeRegistry, c *Cache)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeRegistry{epoch: 1, nodes: []Node{{Descriptor: Descriptor{ID: "n1"}, Pulse: 1}}}
		test(t, f, newCache(f, c, time.Now))
	})
}

func TestAnUnmovedEpochCostsOneLook(t *testing.T) {
	inBubble(t, testConfig(), func(t *testing.T, f *fakeRegistry, c *Cache) {
		first, from, err := c.Snapshot(t.Context())
		require.NoError(t, err)
		assert.Equal(t, FromRegistry, from)
		for range 10 {
			again, _, err := c.Snapshot(t.Context())
			require.NoError(t, err)
			assert.Same(t, first, again)
		}
		assert.Equal(t, []int{10, 1, 0}, []int{f.epochs, f.reloads, f.pulse})
	})
}

func TestAnEpochThatDiffersInAnyWayIsReadAgain(t *testing.T) {
	for _, moved := range []int64{2, 0, -1} { // ahead, missing, behind
		inBubble(t, testConfig(), func(t *testing.T, f *fakeRegistry, c *Cache) {
			_, _, err := c.Snapshot(t.Context())
			require.NoError(t, err)
			f.set(func() { f.epoch = moved })
			s, _, err := c.Snapshot(t.Context())
			require.NoError(t, err)
			assert.Equal(t, moved, s.Epoch)
			assert.Equal(t, 2, f.reloads)
		})
	}
}

func TestAgedPulsesAreReadAgainAlone(t *testing.T) {
	inBubble(t, testConfig(), func(t *testing.T, f *fakeRegistry, c *Cache) {
		first, _, err := c.Snapshot(t.Context())
		require.NoError(t, err)
		time.Sleep(5*time.Second - 1)
		s, _, err := c.Snapshot(t.Context())
		require.NoError(t, err)
		assert.Same(t, first, s)
		time.Sleep(time.Nanosecond)
		s, _, err = c.Snapshot(t.Context())
		require.NoError(t, err)
		assert.Greater(t, s.Time, first.Time)
		assert.Equal(t, []int{2, 1, 1}, []int{f.epochs, f.reloads, f.pulse})
	})
}

func TestWithinFreshnessNobodyIsAsked(t *testing.T) {
	config := testConfig()
	config.Freshness = time.Second
	inBubble(t, config, func(t *testing.T, f *fakeRegistry, c *Cache) {
		for _, wait := range []time.Duration{0, time.Second - 1, 1} {
			time.Sleep(wait)
			_, _, err := c.Snapshot(t.Context())
			require.NoError(t, err)
		}
		assert.Equal(t, []int{1, 1}, []int{f.epochs, f.reloads})
	})
}

func TestALostRegistryLeavesTheLastKnownThenTheStaticList(t *testing.T) {
	config := testConfig()
	static, err := Static([]string{"https://n9.example.com"}, time.Now())
	require.NoError(t, err)
	config.Static = static
	inBubble(t, config, func(t *testing.T, f *fakeRegistry, c *Cache) {
		good, _, err := c.Snapshot(t.Context())
		require.NoError(t, err)
		f.set(func() { f.err = errDown })
		time.Sleep(5*time.Minute - 1)
		s, from, err := c.Snapshot(t.Context())
		require.ErrorIs(t, err, errDown)
		assert.Equal(t, LastKnown, from)
		assert.Equal(t, good.Nodes, s.Nodes)
		assert.Equal(t, good.Time, s.LivenessAt(good.Time+1e9), "nobody grows stale meanwhile")
		again, _, _ := c.Snapshot(t.Context())
		assert.Same(t, s, again)

		time.Sleep(time.Nanosecond)
		s, from, err = c.Snapshot(t.Context())
		require.ErrorIs(t, err, errDown)
		assert.Equal(t, FromStatic, from)
		assert.Same(t, static, s)

		f.set(func() { f.err = nil })
		reloads := f.reloads
		s, from, err = c.Snapshot(t.Context())
		require.NoError(t, err, "registry back: the next request uses it")
		assert.Equal(t, FromRegistry, from)
		assert.False(t, s.Frozen)
		assert.Equal(t, reloads+1, f.reloads, "after a failure everything is read anew")
	})
}

func TestWithoutAnythingLeftTheRegistryIsLost(t *testing.T) {
	inBubble(t, testConfig(), func(t *testing.T, f *fakeRegistry, c *Cache) {
		f.set(func() { f.err = errDown })
		s, _, err := c.Snapshot(t.Context())
		assert.Nil(t, s)
		require.ErrorIs(t, err, ErrLost)
		require.ErrorIs(t, err, errDown)
	})
}

func TestARegistrySuddenlyWithoutNodesCountsAsLost(t *testing.T) {
	inBubble(t, testConfig(), func(t *testing.T, f *fakeRegistry, c *Cache) {
		_, _, err := c.Snapshot(t.Context())
		require.NoError(t, err)
		f.set(func() { f.nodes, f.epoch = nil, 0 })
		s, from, err := c.Snapshot(t.Context())
		require.ErrorIs(t, err, errEmpty)
		assert.Equal(t, LastKnown, from)
		assert.Len(t, s.Nodes, 1)
	})
}

func TestASlowRegistryCostsNoMoreThanTheBudget(t *testing.T) {
	inBubble(t, testConfig(), func(t *testing.T, f *fakeRegistry, c *Cache) {
		f.set(func() { f.takes = time.Minute })
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				began := time.Now()
				_, _, err := c.Snapshot(t.Context())
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.LessOrEqual(t, time.Since(began), 250*time.Millisecond)
			})
			time.Sleep(40 * time.Millisecond)
		}
		wg.Wait()
	})
}

// A read that began before a request could miss a pause that was acknowledged
// before that request.
func TestRequestsShareOnlyAReadThatBeganAfterThem(t *testing.T) {
	inBubble(t, testConfig(), func(t *testing.T, f *fakeRegistry, c *Cache) {
		f.set(func() { f.takes = 10 * time.Millisecond })
		var wg sync.WaitGroup
		var sawOld atomic.Int32
		wg.Go(func() { _, _, _ = c.Snapshot(t.Context()) })
		time.Sleep(5 * time.Millisecond) // the first read is under way
		f.set(func() { f.epoch = 2 })    // and a change is acknowledged
		for range 20 {
			wg.Go(func() {
				s, _, err := c.Snapshot(t.Context())
				if err != nil || s.Epoch != 2 {
					sawOld.Add(1)
				}
			})
		}
		wg.Wait()
		assert.Zero(t, sawOld.Load())
		assert.Equal(t, []int{1, 2}, []int{f.epochs, f.reloads}, "and twenty shared one look")
	})
}

func TestOneWhoGivesUpSpoilsNothingForTheOthers(t *testing.T) {
	inBubble(t, testConfig(), func(t *testing.T, f *fakeRegistry, c *Cache) {
		f.set(func() { f.takes = 10 * time.Millisecond })
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _, _, _ = c.Snapshot(ctx) })
		time.Sleep(time.Millisecond)
		wg.Go(func() {
			_, _, err := c.Snapshot(t.Context())
			assert.NoError(t, err)
		})
		cancel()
		wg.Wait()
	})
}

func TestCountsAreSentOnceASecond(t *testing.T) {
	inBubble(t, testConfig(), func(t *testing.T, f *fakeRegistry, c *Cache) {
		for range 21 {
			s, _, err := c.Snapshot(t.Context())
			require.NoError(t, err)
			c.Count(s.Time, "redirected")
			time.Sleep(100 * time.Millisecond)
		}
		assert.Equal(t, map[string]int64{"redirected": 11}, f.counted, "what was counted by 1.1 s, at 1.1 s")
		time.Sleep(time.Second)
		_, _, err := c.Snapshot(t.Context())
		require.NoError(t, err)
		assert.Equal(t, map[string]int64{"redirected": 21}, f.counted)
	})
}
