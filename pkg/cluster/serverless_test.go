package cluster_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/registrytest"
	"github.com/detourhq/detour/pkg/cluster"
)

// serverCommands are all the commands that a registry sends, scripts' own apart.
var serverCommands = []string{
	"CLUSTER SLOTS", "DEL", "EVAL", "EVALSHA", "EXPIRE", "GETEX", "HELLO", "HGET", "HGETALL", "HINCRBY", "HKEYS", "TIME", "XREVRANGE",
	"ZADD", "ZRANGE", "ZREM", "ZREMRANGEBYSCORE", "ZSCORE",
}

func TestTheRegistryOnServerless(t *testing.T) {
	t.Parallel()
	s := registrytest.StartServerless(t)
	raw := dial(t, s.Server.URL)
	r, err := cluster.NewRegistry(dial(t, s.URL), "test")
	require.NoError(t, err)
	for _, c := range registryTests {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, raw.FlushDB(t.Context()).Err())
			c.test(t, r, raw)
		})
	}
	_, err = r.Seen(t.Context(), "event")
	require.NoError(t, err)
	require.NoError(t, r.MarkSeen(t.Context(), "event"))
	require.NoError(t, r.Erase(t.Context(), cluster.Millis(time.Now().UnixMilli())))
	assert.Empty(t, s.Refused())
	sent := s.Sent()
	slices.Sort(sent)
	assert.Equal(t, serverCommands, slices.Compact(sent))
}

// A server forgets scripts at a restart, at a failover, and when it is told to.
func TestAForgottenScriptIsSentAgain(t *testing.T) {
	t.Parallel()
	s := registrytest.StartServerless(t)
	raw := dial(t, s.Server.URL)
	r, err := cluster.NewRegistry(dial(t, s.URL), "test")
	require.NoError(t, err)
	d := register(t, r, node("n1"))
	pulse := func() []string {
		s.Sent()
		_, err := r.Pulse(t.Context(), "n1", d.Generation, nil)
		require.NoError(t, err)
		return s.Sent()
	}
	assert.Equal(t, []string{"TIME", "EVALSHA", "EVAL"}, pulse())
	assert.Equal(t, []string{"TIME", "EVALSHA"}, pulse())
	require.NoError(t, raw.ScriptFlush(t.Context()).Err())
	assert.Equal(t, []string{"TIME", "EVALSHA", "EVAL"}, pulse())
}

func TestServerlessRefusesWhatItShould(t *testing.T) {
	t.Parallel()
	s := registrytest.StartServerless(t)
	raw := dial(t, s.URL)
	for name, ask := range map[string]func(context.Context) error{
		"KEYS":   func(ctx context.Context) error { return raw.Keys(ctx, "*").Err() },
		"CONFIG": func(ctx context.Context) error { return raw.ConfigGet(ctx, "*").Err() },
		"CLIENT": func(ctx context.Context) error { return raw.ClientID(ctx).Err() },
		"SELECT": func(ctx context.Context) error { return raw.Do(ctx, "SELECT", 0).Err() },
		"FCALL":  func(ctx context.Context) error { return raw.FCall(ctx, "f", []string{"a"}).Err() },
		"EVAL":   func(ctx context.Context) error { return raw.Eval(ctx, "return 1", nil).Err() },
		"TIME in a script": func(ctx context.Context) error {
			return raw.Eval(ctx, "return redis.call('TIME')", []string{"a"}).Err()
		},
		"two slots in EVAL":  func(ctx context.Context) error { return raw.Eval(ctx, "return 1", []string{"a", "b"}).Err() },
		"two slots in a DEL": func(ctx context.Context) error { return raw.Do(ctx, "DEL", "a", "b").Err() },
		"MULTI": func(ctx context.Context) error {
			pipe := raw.TxPipeline()
			pipe.Get(ctx, "a")
			_, err := pipe.Exec(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := ask(shortContext(t))
			require.Error(t, err)
			assert.Regexp(t, "REFUSED|CROSSSLOT|same slot", err.Error())
		})
	}
	require.NoError(t, raw.Set(t.Context(), "a", 1, 0).Err(), "and goes on")
}
