package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// keyPrefix is that of the registry's keys (see pkg/cluster).
const keyPrefix = "{detour:" + clusterName + "}:"

// rawRegistry returns a client for what no part of Detour does to a registry.
func (w *world) rawRegistry(t *testing.T) *redis.Client {
	t.Helper()
	return rawClient(t, w.redis.Addr)
}

func rawClient(t *testing.T, addr string) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Entries that cannot be read are passed over, whatever there is of them; but a
// pause that cannot be read is a pause.
func TestBrokenEntriesLeaveTheOthersInUse(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.register(t, "g1", "green", "http://green.example.com")
	w.register(t, "g2", "green", "http://paused.example.com")
	client := w.rawRegistry(t)
	require.NoError(t, client.HSet(t.Context(), keyPrefix+"pauses", "node:g2", "{").Err())
	for i, broken := range []string{``, `{`, `null`, `[]`, `7`, `"x"`, "\xff\x00", `{"id":7,"endpoint":[]}`, `{"endpoint":"javascript:alert(1)"}`} {
		for _, key := range []string{"nodes", "reports", "figures", "groups", "pauses"} {
			require.NoError(t, client.HSet(t.Context(), keyPrefix+key, fmt.Sprintf("broken%d", i), broken, "\xff\r\n", broken).Err())
		}
		require.NoError(t, client.ZAdd(t.Context(), keyPrefix+"pulses", redis.Z{Score: float64(i), Member: fmt.Sprintf("broken%d", i)}).Err())
	}
	for range 10 {
		require.NoError(t, w.expect(t.Context(), http.StatusTemporaryRedirect, "http://green.example.com/"))
	}
}

// A key of the wrong type counts as a lost registry, and so does one that lost
// all its nodes. As soon as it is well again, it is used.
func TestAKeyOfTheWrongTypeIsALostRegistry(t *testing.T) {
	w := newWorld(t, 1, unforgiving)
	client := w.rawRegistry(t)
	for _, key := range []string{"epoch", "nodes", "reports", "figures", "pulses", "pauses", "groups"} {
		require.NoError(t, client.FlushAll(t.Context()).Err())
		require.NoError(t, w.expect(t.Context(), http.StatusServiceUnavailable, ""), "no node")

		w.register(t, "g1", "green", "http://green.example.com")
		require.NoError(t, w.expect(t.Context(), http.StatusTemporaryRedirect, "http://green.example.com/"), "before %s broke", key)

		require.NoError(t, client.Del(t.Context(), keyPrefix+key).Err())
		require.NoError(t, client.SAdd(t.Context(), keyPrefix+key, "x").Err())
		if key != "epoch" { // what broke unseen is seen with the next change
			require.NoError(t, client.Incr(t.Context(), keyPrefix+"epoch").Err())
		}
		require.NoError(t, w.expect(t.Context(), http.StatusServiceUnavailable, ""), "%s is a set", key)
	}
}

// The function writes nothing but its counts, and those are not worth a request.
func TestAFullRegistryIsRead(t *testing.T) {
	w := newWorld(t, 1, unforgiving)
	w.register(t, "g1", "green", "http://green.example.com")
	client := w.rawRegistry(t)
	require.NoError(t, w.expect(t.Context(), http.StatusTemporaryRedirect, "http://green.example.com/"))
	counts, err := client.Keys(t.Context(), keyPrefix+"stats:*").Result()
	require.NoError(t, err)
	require.Empty(t, counts, "the first request is counted with the second")

	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "1").Err())
	for range 3 {
		require.NoError(t, w.expect(t.Context(), http.StatusTemporaryRedirect, "http://green.example.com/"))
	}
}

// A replica may be behind its primary by any time: it is no registry to decide by.
func TestAReplicaIsALostRegistry(t *testing.T) {
	w := newWorld(t, 1, unforgiving)
	w.register(t, "g1", "green", "http://green.example.com")
	require.NoError(t, w.expect(t.Context(), http.StatusTemporaryRedirect, "http://green.example.com/"))
	w.redis.DemoteToNobody()
	require.NoError(t, w.expect(t.Context(), http.StatusServiceUnavailable, ""))
	w.redis.Promote()
	require.NoError(t, w.expect(t.Context(), http.StatusTemporaryRedirect, "http://green.example.com/"))
}
