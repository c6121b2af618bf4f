package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrLost reports that there is no registry to decide by: it cannot be read, or
// it holds no node, and neither a last known snapshot nor a static list is left.
var ErrLost = errors.New("cluster: registry lost")

// reader is what a cache needs of a [Registry].
type reader interface {
	Epoch(ctx context.Context, c Counts) (int64, error)
	Snapshot(ctx context.Context, wall func() time.Time) (*Snapshot, error)
	Aged(ctx context.Context, s *Snapshot, wall func() time.Time) (*Snapshot, error)
}

// Origin says where a [Cache] had a snapshot from.
type Origin string

// The origins, from the best to the last resort.
const (
	FromRegistry Origin = "registry"
	LastKnown    Origin = "last-known"
	FromStatic   Origin = "static"
)

// CacheConfig says how old a snapshot may be. The zero value asks the registry
// each time and forgives nothing.
type CacheConfig struct {
	Budget       time.Duration // for all that one call asks of the registry; zero means what the context leaves
	Freshness    time.Duration // the epoch is not asked for this long after it was
	PulseEvery   time.Duration // pulses older than this are read again
	StaleIfError time.Duration // the last known snapshot serves this long while the registry is lost
	Static       *Snapshot     // serves after that; nil for none
}

// Cache gives many requests the newest snapshot at little cost: one look at the
// epoch, and a new snapshot only when it moved. It is safe for concurrent use,
// and nothing of it runs between calls: a freeze does it no harm.
type Cache struct {
	registry reader
	config   CacheConfig
	wall     func() time.Time

	reading chan struct{} // holds a token while a read is under way

	mu      sync.Mutex // guards the following
	next    *read      // announced, not begun: whoever comes now may share it
	current *Snapshot  // the last good one; nil before the first
	frozen  *Snapshot  // current with its liveness as at its time; nil unless a read failed since
	asked   time.Time  // when the epoch was last found to be current's; zero after a failure
	counts  Counts
	counted time.Time // when counts were last sent
}

// read is one look at the registry that several calls wait for.
type read struct {
	done     chan struct{}
	snapshot *Snapshot
	err      error
}

// NewCache returns a cache of r. wall is this machine's wall clock.
func NewCache(r *Registry, c CacheConfig, wall func() time.Time) *Cache {
	return newCache(r, c, wall)
}

func newCache(r reader, c CacheConfig, wall func() time.Time) *Cache {
	return &Cache{registry: r, config: c, wall: wall, reading: make(chan struct{}, 1)}
}

// Snapshot returns the registry as it was at some instant after the call began
// (or within Freshness before), and else the best that is left. The error wraps
// [ErrLost] and what the registry answered; with [LastKnown] and [FromStatic]
// it tells why, beside a snapshot.
func (c *Cache) Snapshot(ctx context.Context) (*Snapshot, Origin, error) {
	if s := c.fresh(); s != nil {
		return s, FromRegistry, nil
	}
	s, err := c.share(ctx)
	if err == nil {
		return s, FromRegistry, nil
	}
	if s := c.lastKnown(); s != nil {
		return s, LastKnown, err
	}
	if c.config.Static != nil {
		return c.config.Static, FromStatic, err
	}
	return nil, "", fmt.Errorf("%w: %w", ErrLost, err)
}

// fresh returns the current snapshot if the epoch was asked within Freshness.
// A wall clock that stepped back counts as expired.
func (c *Cache) fresh() *Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	age := c.age(c.asked)
	if c.asked.IsZero() || age < 0 || age >= c.config.Freshness {
		return nil
	}
	return c.current
}

// lastKnown returns the current snapshot while it is young enough, with liveness
// as it was: nobody can have pulsed to a registry that is lost.
func (c *Cache) lastKnown() *Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil || c.age(c.current.ReadAt) >= c.config.StaleIfError {
		return nil
	}
	if c.frozen == nil {
		frozen := *c.current
		frozen.Frozen = true
		c.frozen = &frozen
	}
	return c.frozen
}

// age is wall time, without the monotonic clock that may stand still in a freeze.
func (c *Cache) age(t time.Time) time.Duration { return c.wall().Round(0).Sub(t.Round(0)) }

// share joins the read that has not begun yet, or announces one. A read that
// began before this call could miss a change that was acknowledged before it.
func (c *Cache) share(ctx context.Context) (*Snapshot, error) {
	if c.config.Budget > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.config.Budget)
		defer cancel()
	}
	c.mu.Lock()
	r, mine := c.next, c.next == nil
	if mine {
		r = &read{done: make(chan struct{})}
		c.next = r
	}
	c.mu.Unlock()
	if mine {
		c.lead(ctx, r)
	}
	select {
	case <-r.done:
		return r.snapshot, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// lead makes the read r once the one under way is over.
func (c *Cache) lead(ctx context.Context, r *read) {
	defer close(r.done)
	select {
	case c.reading <- struct{}{}:
		defer func() { <-c.reading }()
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		c.next, r.err = nil, ctx.Err()
		return
	}
	last, counts := c.begin()
	if deadline, ok := ctx.Deadline(); ok { // others wait for this read too: only time ends it
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(context.WithoutCancel(ctx), deadline)
		defer cancel()
	}
	asked := c.wall()
	r.snapshot, r.err = c.look(ctx, last, counts)

	c.mu.Lock()
	defer c.mu.Unlock()
	if r.err != nil {
		c.asked = time.Time{}
		return
	}
	c.current, c.frozen, c.asked = r.snapshot, nil, asked
}

// begin closes the read to newcomers and returns the snapshot to build on, nil
// after a failure, and the counts to send, at most once a second.
func (c *Cache) begin() (*Snapshot, Counts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = nil
	if c.asked.IsZero() {
		return nil, Counts{}
	}
	var due Counts
	if age := c.age(c.counted); age < 0 || age >= time.Second {
		due, c.counts, c.counted = c.counts, Counts{}, c.wall()
	}
	return c.current, due
}

// Count adds one to each of names in the registry's statistics, with one of the
// next looks at the epoch. What the last second before a long silence counted
// may be late, and is lost with the process.
func (c *Cache) Count(now Millis, names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Add(now, names...)
}

var errEmpty = errors.New("registry holds no node, but did")

// look returns last if it is still true, and else reads what has changed.
func (c *Cache) look(ctx context.Context, last *Snapshot, counts Counts) (*Snapshot, error) {
	if last == nil {
		return c.reload(ctx)
	}
	epoch, err := c.registry.Epoch(ctx, counts)
	if err != nil {
		return nil, err
	}
	if epoch != last.Epoch {
		return c.reload(ctx)
	}
	if age := c.age(last.ReadAt); age < 0 || age >= c.config.PulseEvery {
		return c.registry.Aged(ctx, last, c.wall)
	}
	return last, nil
}

func (c *Cache) reload(ctx context.Context) (*Snapshot, error) {
	s, err := c.registry.Snapshot(ctx, c.wall)
	if err != nil {
		return nil, err
	}
	if len(s.Nodes) == 0 && c.hadNodes() {
		return nil, errEmpty
	}
	return s, nil
}

func (c *Cache) hadNodes() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current != nil && len(c.current.Nodes) > 0
}
