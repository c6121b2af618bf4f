package cluster

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/redistest"
)

// passAll is a fake's answer that leaves everything to it.
func passAll(int, []string) string { return pass }

func tomorrow() time.Time { return time.Now().Add(24 * time.Hour) }

// reach returns a registry behind url.
func reach(t *testing.T, url string, budget time.Duration, options ...Option) *Registry {
	t.Helper()
	client, err := Dial(url, budget, options...)
	require.NoError(t, err)
	r, err := NewRegistry(client, "test")
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func look(t *testing.T, r *Registry) {
	t.Helper()
	_, err := r.Epoch(t.Context(), Counts{})
	require.NoError(t, err)
}

// redis/go-redis#3137: one connection for commands in a row.
func TestOneHandshakeServesCommandsInARow(t *testing.T) {
	f := startFake(t, tomorrow(), passAll)
	r := reach(t, f.url(), time.Second)
	var c Counts
	c.Add(1, "redirected") // makes every second look a pipeline
	for i := range 10 {
		_, err := r.Epoch(t.Context(), [2]Counts{{}, c}[i%2])
		require.NoError(t, err)
	}
	assert.Equal(t, 1, f.handshakes())
}

// redis/go-redis#3536, theopenlane/core#1449: nothing else is sent, whatever the
// server may know.
func TestAColdStartSendsHelloAndTheCommand(t *testing.T) {
	f := startFake(t, tomorrow(), passAll)
	look(t, reach(t, f.url(), time.Second))
	assert.Equal(t, []string{"HELLO", "GETEX"}, f.commands())
	look(t, reach(t, f.url(), time.Second, WithServerless()))
	assert.Equal(t, []string{"HELLO", "GETEX"}, f.commands(), "one endpoint for all: nobody is asked for slots")
}

func TestAColdStartInAClusterAsksForTheSlotsOnce(t *testing.T) {
	s := redistest.Start(t, redistest.WithCluster())
	admin := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer func() { _ = admin.Close() }()
	for _, c := range []struct {
		name    string
		options []Option
		want    []string
	}{
		// The member calls itself by another name than the URL: a connection each.
		{"members", nil, []string{"cluster|slots:calls=1", "getex:calls=1", "hello:calls=2"}},
		{"one endpoint for all", []Option{WithServerless()}, []string{"getex:calls=1", "hello:calls=1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, admin.ConfigResetStat(t.Context()).Err())
			look(t, reach(t, s.URL+"?cluster=true", time.Second, c.options...))
			stats, err := admin.Info(t.Context(), "commandstats").Result()
			require.NoError(t, err)
			for _, calls := range append(c.want, "config|resetstat:calls=1") {
				assert.Contains(t, stats, "cmdstat_"+calls+",")
			}
			assert.Equal(t, len(c.want)+1, strings.Count(stats, "cmdstat_"), stats)
		})
	}
}

// redis/go-redis#3788: a server that knows no HELLO speaks RESP2.
func TestAServerWithoutHelloIsUnderstood(t *testing.T) {
	f := startFake(t, tomorrow(), func(_ int, command []string) string {
		if command[0] == "hello" {
			return "-ERR unknown command 'HELLO'\r\n"
		}
		return pass
	})
	look(t, reach(t, strings.Replace(f.url(), "://", "://u:p@", 1), time.Second))
	assert.Equal(t, []string{"HELLO", "AUTH", "GETEX"}, f.commands())
}

// redis/jedis#3438, redis/redis-vl-python#685: a user needs no right but those of
// the commands that it is there for.
func TestAUserWithOneRightIsEnough(t *testing.T) {
	s := redistest.Start(t, redistest.WithConfig("user looker on >p %RW~{detour:test}:epoch -@all +getex"))
	look(t, reach(t, "redis://looker:p@"+s.Addr, time.Second))
}

// Nothing tells that it is alive: a TLS connection is not looked at before use.
func TestNoConnectionIsTrustedAfterAGap(t *testing.T) {
	const gap = 300 * time.Millisecond // stands for a minute
	f := startFake(t, tomorrow(), passAll)
	a, err := newAccess(f.url(), time.Second, nil)
	require.NoError(t, err)
	a.trust = gap
	r, err := NewRegistry(a.dial(), "test")
	require.NoError(t, err)
	defer func() { _ = r.Close() }()
	for range 3 {
		look(t, r)
	}
	assert.Equal(t, 1, f.handshakes())
	time.Sleep(gap) // what passes is the point
	look(t, r)
	assert.Equal(t, 2, f.handshakes())
}

// erpc/erpc#1113: in flight too.
func TestTheDeadlineReachesTheSocket(t *testing.T) {
	stalled := make(chan struct{})
	f := startFake(t, tomorrow(), func(_ int, command []string) string {
		if command[0] == "get" {
			<-stalled
		}
		return pass
	})
	defer close(stalled)
	r := reach(t, f.url(), 5*time.Second)
	look(t, r)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	require.Error(t, r.client.Get(ctx, "x").Err())
	assert.Less(t, time.Since(began), 150*time.Millisecond)
}

// redis/go-redis#2145: a cluster of which nobody answers. Connections open, and
// that is all.
func TestABlackHoleCostsNoMoreThanTheDeadline(t *testing.T) {
	var hosts []string
	for range 3 {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { _ = listener.Close() }()
		hosts = append(hosts, listener.Addr().String())
	}
	for _, url := range []string{
		"redis://" + hosts[0], "rediss://" + hosts[0],
		"redis://" + strings.Join(hosts, ",") + "?cluster=true", "rediss://" + strings.Join(hosts, ",") + "?cluster=true",
	} {
		r := reach(t, url, 200*time.Millisecond)
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			began := time.Now()
			_, err := r.Snapshot(ctx, time.Now)
			require.Error(t, err)
			assert.Less(t, time.Since(began), 300*time.Millisecond, url)
			cancel()
		}
	}
}

func TestACertificateThatWillNotDoIsNamed(t *testing.T) {
	expired := startFake(t, time.Now().Add(-time.Hour), passAll)
	_, err := reach(t, "rediss://"+expired.addr, time.Second).Epoch(t.Context(), Counts{})
	require.ErrorContains(t, err, "certificate has expired")
	unknown := startFake(t, tomorrow(), passAll)
	_, err = reach(t, "rediss://"+unknown.addr, time.Second).Epoch(t.Context(), Counts{})
	require.ErrorContains(t, err, "unknown authority")
	_, err = reach(t, "rediss://"+unknown.addr+"?cluster=true", time.Second).Epoch(t.Context(), Counts{})
	require.ErrorContains(t, err, "unknown authority")
}

// A server that is gone is told at once and by its address: what is left of the
// registry has to serve.
func TestARefusedDialIsNotTriedAgain(t *testing.T) {
	a, err := newAccess("redis://127.0.0.1:1", time.Second, nil)
	require.NoError(t, err)
	o := a.options()
	dials, under := 0, o.Dialer
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials++
		return under(ctx, network, addr)
	}
	r, err := NewRegistry(redis.NewClient(o.Simple()), "test")
	require.NoError(t, err)
	defer func() { _ = r.Close() }()
	for call := range 4 { // more than the pool has connections
		_, err = r.Epoch(t.Context(), Counts{})
		require.ErrorContains(t, err, "dial tcp 127.0.0.1:1: connect")
		assert.Equal(t, call+1, dials)
	}
}
