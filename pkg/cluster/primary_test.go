package cluster_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/pkg/cluster"
)

// name stands for a name in the DNS: it leads new connections to one server, and
// those that are open stay where they are.
type name struct {
	addr string
	mu   sync.Mutex // guards the following
	to   string
}

func newName(t *testing.T, to string) *name {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	n := &name{addr: listener.Addr().String(), to: to}
	ctx, cancel := context.WithCancel(context.Background())
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { n.carry(ctx, client) })
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		conns.Wait()
	})
	return n
}

// carry takes one connection to the server, both ways, until either side or ctx
// ends it.
func (n *name) carry(ctx context.Context, client net.Conn) {
	n.mu.Lock()
	to := n.to
	n.mu.Unlock()
	defer func() { _ = client.Close() }()
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", to)
	if err != nil {
		return
	}
	end := func() { _, _ = client.Close(), server.Close() }
	defer context.AfterFunc(ctx, end)()
	var ways sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		ways.Go(func() {
			defer end()
			_, _ = io.Copy(way[0], way[1])
		})
	}
	ways.Wait()
}

func (n *name) point(to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.to = to
}

// G1: a primary that became a replica is not read any more, though it keeps the
// connections that it has and answers what it last knew.
func TestADemotedPrimaryIsNotBelieved(t *testing.T) {
	old, next := redistest.Start(t), redistest.Start(t)
	endpoint := newName(t, old.Addr)
	r, client := reach(t, "redis://"+endpoint.addr, time.Second)
	cache := cluster.NewCache(r, cluster.CacheConfig{StaleIfError: time.Minute, PulseEvery: time.Hour}, time.Now)
	register(t, r, node("n1"))
	_, from, err := cache.Snapshot(shortContext(t))
	require.NoError(t, err)
	require.Equal(t, cluster.FromRegistry, from)
	next.Follow(old)
	fill(t, nodeOf(t, client), 2) // as many connections to the old one as there can be

	next.Promote()
	old.DemoteToNobody() // it hears of nothing any more
	endpoint.point(next.Addr)
	operator, _ := reach(t, next.URL, time.Second)
	_, err = operator.Pause(shortContext(t), cluster.All, cluster.PauseRequest{})
	require.NoError(t, err)

	s, from, err := cache.Snapshot(shortContext(t))
	require.NoError(t, err)
	assert.Equal(t, cluster.FromRegistry, from)
	assert.Contains(t, s.Pauses, cluster.All, "paused before the request came")
	assert.Zero(t, clientsOf(t, old), "the old one has no connection left from before")
}

// clientsOf returns how many clients s has, but for whoever asks and its own links.
func clientsOf(t *testing.T, s *redistest.Server) int {
	t.Helper()
	admin := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer func() { _ = admin.Close() }()
	list, err := admin.Do(t.Context(), "CLIENT", "LIST", "TYPE", "normal").Text()
	require.NoError(t, err)
	n := -1
	for _, c := range list {
		if c == '\n' {
			n++
		}
	}
	return n
}

// While nobody is a primary, or none may write, the registry is lost, and what is
// left serves. Once it is back, the next call is served.
func TestWithoutAPrimaryTheRegistryIsLost(t *testing.T) {
	s := redistest.Start(t)
	r, _ := reach(t, s.URL, 250*time.Millisecond)
	register(t, r, node("n1"))
	for range 2 {
		s.DemoteToNobody()
		_, err := r.Epoch(shortContext(t), cluster.Counts{})
		require.ErrorContains(t, err, "READONLY")
		_, err = r.Snapshot(shortContext(t), time.Now)
		require.ErrorContains(t, err, "READONLY")
		s.Promote()
		_, err = r.Snapshot(shortContext(t), time.Now)
		require.NoError(t, err)
	}
}

// To look changes nothing: neither the key nor when it ends, not even where there
// is no memory left.
func TestALookChangesNothing(t *testing.T) {
	s := redistest.Start(t, redistest.WithConfig("maxmemory 1", "maxmemory-policy noeviction"))
	r, raw := reach(t, s.URL, time.Second)
	_, err := r.Epoch(shortContext(t), cluster.Counts{})
	require.NoError(t, err)
	require.NoError(t, raw.ConfigSet(t.Context(), "maxmemory", "0").Err())
	require.NoError(t, raw.Set(t.Context(), prefix+":epoch", 7, time.Hour).Err())
	require.NoError(t, raw.ConfigSet(t.Context(), "maxmemory", "1").Err())
	changes, err := raw.Info(t.Context(), "persistence").Result()
	require.NoError(t, err)
	assert.Equal(t, int64(7), epoch(t, r))
	left, err := raw.TTL(t.Context(), prefix+":epoch").Result()
	require.NoError(t, err)
	assert.Greater(t, left, 59*time.Minute)
	again, err := raw.Info(t.Context(), "persistence").Result()
	require.NoError(t, err)
	assert.Equal(t, field(t, changes, "rdb_changes_since_last_save"), field(t, again, "rdb_changes_since_last_save"))
}

// In a cluster the client knows one address, and that one dies.
func TestAClusterFailsOver(t *testing.T) {
	c := redistest.StartCluster(t, 3, 3)
	key := prefix + ":epoch"
	first := c.PrimaryOf(key)
	r, client := reach(t, first.URL+"?cluster=true", time.Second)
	d := register(t, r, node("n1"))
	fill(t, nodeOf(t, client), 2)

	t.Run("the primary is gone", func(t *testing.T) {
		first.Kill()
		second := c.AwaitFailover(key, first)
		require.NotEqual(t, first, second)
		_, err := r.Snapshot(limited(t, time.Second), time.Now)
		require.NoError(t, err)
		_, err = r.Pulse(limited(t, time.Second), d.ID, d.Generation, nil)
		require.NoError(t, err)
	})
	first.Restart() // as a replica of the second, once it knows
	t.Run("the primary steps down", func(t *testing.T) {
		second := c.PrimaryOf(key)
		takeOver(t, first)
		require.Equal(t, first, c.AwaitFailover(key, second))
		_, err := r.Epoch(limited(t, time.Second), cluster.Counts{})
		require.NoError(t, err)
		_, err = r.Time(limited(t, time.Second))
		require.NoError(t, err)
		_, err = r.Pause(limited(t, time.Second), cluster.All, cluster.PauseRequest{})
		require.NoError(t, err)
	})
	t.Run("the primary stands still", func(t *testing.T) {
		first.Suspend()
		defer first.Resume()
		c.AwaitFailover(key, first)
		// The call that finds it out has no time left; the next one asks two members
		// at random, each of which may be the one that stands still.
		var err error
		for range 4 {
			if _, err = r.Epoch(limited(t, time.Second), cluster.Counts{}); err == nil {
				break
			}
		}
		require.NoError(t, err)
	})
}

func limited(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// takeOver has the replica s take over from its primary in order, once it has
// caught up with it.
func takeOver(t *testing.T, s *redistest.Server) {
	t.Helper()
	admin := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer func() { _ = admin.Close() }()
	// A failover that was asked for before the others knew the replica comes to
	// nothing, without a word: it is asked for again.
	require.Eventually(t, func() bool {
		info, err := admin.Info(t.Context(), "replication").Result()
		if err == nil && strings.Contains(info, "master_link_status:up") {
			_ = admin.ClusterFailover(t.Context()).Err()
		}
		return err == nil && strings.Contains(info, "role:master")
	}, 25*time.Second, 2*time.Second)
}

// field returns one line's value of what INFO answers.
func field(t *testing.T, info, name string) string {
	t.Helper()
	_, after, ok := strings.Cut(info, name+":")
	require.True(t, ok, info)
	value, _, _ := strings.Cut(after, "\r\n")
	return value
}
