package redistest_test

import (
	"crypto/tls"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/redistest"
)

func clusterClient(t *testing.T, c *redistest.Cluster) *redis.ClusterClient {
	t.Helper()
	options := &redis.ClusterOptions{}
	for _, s := range c.Members {
		options.Addrs = append(options.Addrs, s.Addr)
	}
	client := redis.NewClusterClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestAClusterFailsOver(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 3)
	all := clusterClient(t, c)
	holders := map[*redistest.Server]int{}
	for i := range 100 {
		key := "key" + strconv.Itoa(i)
		require.NoError(t, all.Set(t.Context(), key, i, 0).Err())
		holders[c.PrimaryOf(key)]++
	}
	require.Len(t, holders, 3, "each primary holds keys")
	for _, s := range c.Members[:3] {
		assert.Positive(t, holders[s])
	}

	killed := c.PrimaryOf("key1")
	killed.Kill()
	next := c.AwaitFailover("key1", killed)
	assert.Contains(t, c.Members[3:], next, "a replica took over")
	value, err := client(t, next).Get(t.Context(), "key1").Result()
	require.NoError(t, err)
	assert.Equal(t, "1", value)

	killed.Restart()
	assert.Eventually(t, func() bool { return c.PrimaryOf("key1") == next }, 10*time.Second, 10*time.Millisecond,
		"who comes back is a replica")

	next.Suspend()
	assert.NotEqual(t, next, c.AwaitFailover("key1", next), "as it is when it stands still")
	next.Resume()
}

func TestAReplicaMayTakeOver(t *testing.T) {
	t.Parallel()
	primary, replica := redistest.Start(t), redistest.Start(t)
	set(t, primary)
	replica.Follow(primary)
	assert.Equal(t, int64(1), keys(t, replica))
	err := client(t, replica).Set(t.Context(), "key", "other", 0).Err()
	require.ErrorContains(t, err, "READONLY")
	replica.Promote()
	set(t, replica)
}

func TestACertificateMayExpireAndBeRenewed(t *testing.T) {
	s := redistest.Start(t, redistest.WithTLS())
	dial := func() error {
		conn, err := (&tls.Dialer{Config: s.TLS}).DialContext(t.Context(), "tcp", s.Addr)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	require.NoError(t, dial())
	s.Certify(time.Now().Add(-time.Minute))
	require.ErrorContains(t, dial(), "expired")
	s.Certify(time.Now().Add(time.Minute))
	require.NoError(t, dial())
}

func TestDroppedClientsComeBack(t *testing.T) {
	s := redistest.Start(t)
	c := client(t, s) // does not try again
	conn := c.Conn()
	defer conn.Close()
	require.NoError(t, conn.Ping(t.Context()).Err())
	s.DropClients()
	require.Error(t, conn.Ping(t.Context()).Err())
	require.NoError(t, c.Ping(t.Context()).Err())
}
