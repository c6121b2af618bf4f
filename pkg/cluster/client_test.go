package cluster_test

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/pkg/cluster"
)

func TestTheFirstCallAfterAnOutageIsServed(t *testing.T) {
	server := redistest.Start(t)
	client, err := cluster.Dial(server.URL, 250*time.Millisecond)
	require.NoError(t, err)
	r, err := cluster.NewRegistry(client, "test")
	require.NoError(t, err)
	defer func() { _ = r.Close() }()
	for range 3 {
		require.NoError(t, func() error { _, err := r.Epoch(shortContext(t), cluster.Counts{}); return err }())
		server.Kill()
		for range 5 { // more than the pool has connections
			_, err := r.Epoch(shortContext(t), cluster.Counts{})
			assert.ErrorContains(t, err, "refused")
		}
		server.Restart()
		_, err := r.Epoch(shortContext(t), cluster.Counts{})
		assert.NoError(t, err)
	}
}

// reach returns a registry behind url, and its client.
func reach(t *testing.T, url string, budget time.Duration) (*cluster.Registry, redis.UniversalClient) {
	t.Helper()
	client, err := cluster.Dial(url, budget)
	require.NoError(t, err)
	r, err := cluster.NewRegistry(client, "test")
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r, client
}

// nodeOf returns the client of the node that client reads from.
func nodeOf(t *testing.T, client redis.UniversalClient) *redis.Client {
	t.Helper()
	if c, ok := client.(*redis.Client); ok {
		return c
	}
	member, err := client.(interface {
		MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	}).MasterForKey(t.Context(), prefix+":epoch")
	require.NoError(t, err)
	return member
}

// redis/go-redis#3025, StackExchange/StackExchange.Redis#1269, redis/ioredis#1183:
// connections that died in a freeze, of which TLS ones are not noticed before use.
func TestConnectionsThatDiedWhileIdleCostNobodyARequest(t *testing.T) {
	for name, c := range map[string]struct {
		options []redistest.Option
		query   string
	}{
		"plain":       {nil, ""},
		"TLS":         {[]redistest.Option{redistest.WithTLS()}, "?skip_verify=true"},
		"TLS cluster": {[]redistest.Option{redistest.WithTLS(), redistest.WithCluster()}, "?skip_verify=true&cluster=true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, c.options...)
			r, client := reach(t, s.URL+c.query, 2*time.Second)
			for dead := 1; dead <= 2; dead++ { // as many as the pool holds
				_, err := r.Epoch(shortContext(t), cluster.Counts{})
				require.NoError(t, err)
				fill(t, nodeOf(t, client), dead)
				s.DropClients()
				_, err = r.Epoch(shortContext(t), cluster.Counts{})
				assert.NoError(t, err, "%d of them", dead)
			}
		})
	}
}

// fill leaves n idle connections in c's pool.
func fill(t *testing.T, c *redis.Client, n int) {
	t.Helper()
	held := make([]*redis.Conn, n)
	for i := range held {
		held[i] = c.Conn()
		require.NoError(t, held[i].Ping(t.Context()).Err())
	}
	for _, conn := range held {
		require.NoError(t, conn.Close())
	}
	require.GreaterOrEqual(t, int(c.PoolStats().IdleConns), n)
}

// redis/go-redis#3582, #3623: turns of the pool lost; #3678, #3630: goroutines
// lost, and a panic.
func TestCallsThatRunOutOfTimeLeaveNothingBehind(t *testing.T) {
	s := redistest.Start(t)
	r, client := reach(t, s.URL, 2*time.Second)
	_, err := r.Epoch(shortContext(t), cluster.Counts{})
	require.NoError(t, err)
	before := runtime.NumGoroutine()
	for i := range 1000 {
		if i%100 == 0 {
			s.DropClients() // so that dials run out of time too
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%20)*50*time.Microsecond)
		_, _ = r.Epoch(ctx, cluster.Counts{})
		cancel()
	}
	_, err = r.Epoch(shortContext(t), cluster.Counts{})
	require.NoError(t, err)
	assert.Eventually(t, func() bool {
		p := client.PoolStats()
		return p.TotalConns == p.IdleConns && p.PendingRequests == 0 && runtime.NumGoroutine() <= before+2
	}, 5*time.Second, 10*time.Millisecond, "%+v, %d goroutines where there were %d", client.PoolStats(), runtime.NumGoroutine(), before)
	for range 2 { // the whole pool is there
		fill(t, nodeOf(t, client), 2)
	}
}

// Magma-Devs/smart-router#407: connections that were not let in stay open.
func TestWhoIsNotLetInLeavesNoConnectionOpen(t *testing.T) {
	open := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("this system does not tell which files are open")
		}
		return len(files)
	}
	s := redistest.Start(t, redistest.WithConfig("user detour on >right ~* +@all"))
	r, _ := reach(t, "redis://detour:wrong-password@"+s.Addr, time.Second)
	_, err := r.Epoch(shortContext(t), cluster.Counts{})
	require.ErrorContains(t, err, "WRONGPASS")
	assert.NotContains(t, err.Error(), "wrong-password")
	before := open()
	for range 1000 {
		_, err := r.Epoch(shortContext(t), cluster.Counts{})
		require.Error(t, err)
	}
	assert.LessOrEqual(t, open(), before+4)
}
