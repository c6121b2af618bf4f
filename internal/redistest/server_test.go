package redistest_test

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/redistest"
)

func client(t *testing.T, s *redistest.Server) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(s.URL)
	require.NoError(t, err)
	if s.TLS != nil {
		options.TLSConfig = s.TLS
	}
	options.ContextTimeoutEnabled = true
	options.DialerRetries = 1
	options.MaxRetries = -1
	c := redis.NewClient(options)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func set(t *testing.T, s *redistest.Server) {
	t.Helper()
	require.NoError(t, client(t, s).Set(t.Context(), "key", "value", 0).Err())
}

// keys returns how many keys the server holds.
func keys(t *testing.T, s *redistest.Server) int64 {
	t.Helper()
	n, err := client(t, s).DBSize(t.Context()).Result()
	require.NoError(t, err)
	return n
}

func refused(t *testing.T, s *redistest.Server) {
	t.Helper()
	_, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr)
	require.Error(t, err)
}

func TestStartServesOnLoopback(t *testing.T) {
	s := redistest.Start(t)
	assert.Equal(t, "redis://"+s.Addr, s.URL)
	assert.Regexp(t, `^127\.0\.0\.1:\d+$`, s.Addr)
	assert.Nil(t, s.TLS)
	set(t, s)
	assert.Equal(t, int64(1), keys(t, s))
}

func TestServersDoNotShareAnything(t *testing.T) {
	a, b := redistest.Start(t), redistest.Start(t)
	set(t, a)
	assert.Zero(t, keys(t, b))
}

func TestTheServerIsGoneWithItsTest(t *testing.T) {
	for name, leave := range map[string]func(*redistest.Server){
		"running":   func(*redistest.Server) {},
		"suspended": (*redistest.Server).Suspend,
		"stopped":   (*redistest.Server).Stop,
		"killed":    (*redistest.Server).Kill,
	} {
		t.Run(name, func(t *testing.T) {
			var s *redistest.Server
			t.Run("inner", func(t *testing.T) {
				s = redistest.Start(t)
				leave(s)
			})
			refused(t, s)
		})
	}
}

func TestRestartKeepsThePort(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		end  func(*redistest.Server)
		with []redistest.Option
		keys int64
	}{
		"from running, empty":             {func(*redistest.Server) {}, nil, 0},
		"after Stop, empty":               {(*redistest.Server).Stop, nil, 0},
		"after Kill, empty":               {(*redistest.Server).Kill, nil, 0},
		"while suspended, empty":          {(*redistest.Server).Suspend, nil, 0},
		"after Kill, with what it logged": {(*redistest.Server).Kill, []redistest.Option{redistest.WithConfig("appendonly yes", "appendfsync always")}, 1},
		"as a cluster, empty":             {(*redistest.Server).Kill, []redistest.Option{redistest.WithCluster()}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, row.with...)
			addr := s.Addr
			set(t, s)
			row.end(s)
			s.Restart()
			assert.Equal(t, addr, s.Addr)
			assert.Equal(t, row.keys, keys(t, s))
			set(t, s)
		})
	}
}

func TestStopAndKillMayBeRepeated(t *testing.T) {
	s := redistest.Start(t)
	s.Stop()
	refused(t, s)
	s.Stop()
	s.Kill()
}

func TestASuspendedServerIsSilentUntilResumed(t *testing.T) {
	s := redistest.Start(t)
	c := client(t, s)
	require.NoError(t, c.Ping(t.Context()).Err())
	s.Suspend()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var silence net.Error
	require.ErrorAs(t, c.Ping(ctx).Err(), &silence)
	assert.True(t, silence.Timeout())
	s.Resume()
	require.NoError(t, c.Ping(t.Context()).Err())
}

func TestATLSServerIsTrustedThroughItsCAOnly(t *testing.T) {
	s := redistest.Start(t, redistest.WithTLS())
	assert.Equal(t, "rediss://"+s.Addr, s.URL)
	set(t, s)

	_, err := (&tls.Dialer{}).DialContext(t.Context(), "tcp", s.Addr)
	var unknown *tls.CertificateVerificationError
	require.ErrorAs(t, err, &unknown)
}

func TestAClusterHoldsAllSlots(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]redistest.Option{
		"plain":    {redistest.WithCluster()},
		"with TLS": {redistest.WithCluster(), redistest.WithTLS()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, options...)
			c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{s.Addr}, TLSConfig: s.TLS})
			defer c.Close()
			for i := range 20 {
				require.NoError(t, c.Set(t.Context(), "key"+strconv.Itoa(i), i, 0).Err())
			}
			err := c.MGet(t.Context(), "key1", "key2").Err()
			require.Error(t, err, "slots are told apart")
		})
	}
}

func TestConfigLinesWin(t *testing.T) {
	s := redistest.Start(t, redistest.WithConfig("requirepass secret", "databases 3"))
	options, err := redis.ParseURL("redis://:secret@" + s.Addr + "/2")
	require.NoError(t, err)
	c := redis.NewClient(options)
	defer c.Close()
	require.NoError(t, c.Ping(t.Context()).Err())
	require.ErrorContains(t, client(t, s).Ping(t.Context()).Err(), "NOAUTH")
}
