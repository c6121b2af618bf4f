package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// seedVariable names the one seed to run the random tests with.
const seedVariable = "DETOUR_SEED"

func seeds(t *testing.T) []uint64 {
	t.Helper()
	if text := os.Getenv(seedVariable); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, seedVariable)
		return []uint64{seed}
	}
	return []uint64{1, 2, 3}
}

// A registry does what its model does, whatever happens to it, step by step.
func TestTheRegistryFollowsItsModel(t *testing.T) {
	var mu sync.Mutex
	seen := make(map[string]int)
	t.Run("seeds", func(t *testing.T) {
		for _, seed := range seeds(t) {
			t.Run(fmt.Sprintf("%s=%d", seedVariable, seed), func(t *testing.T) {
				t.Parallel()
				s := newStage(t, seed)
				s.play(1000)
				mu.Lock()
				defer mu.Unlock()
				for what, n := range s.seen {
					seen[what] += n
				}
			})
		}
	})
	if t.Failed() || os.Getenv(seedVariable) != "" {
		return
	}
	for _, what := range outcomes {
		assert.Positive(t, seen[what], "%s never happened: the test has lost its meaning", what)
	}
}

// stage is a registry beside its model, whose time is moved by hand.
type stage struct {
	t      *testing.T
	server *miniredis.Miniredis
	raw    redis.UniversalClient
	r      *cluster.Registry
	random *rand.Rand
	model  *model

	processes []*process
	read      *cluster.Snapshot // what a sweeper goes by, however long ago it read it
	leases    []cluster.Lease
	asked     map[cluster.Target]cluster.Pause // what agents remember
	highest   int64                            // epoch ever
	seen      map[string]int                   // what happened how often
	trace     []string
}

func newStage(t *testing.T, seed uint64) *stage {
	t.Helper()
	server := miniredis.RunT(t)
	raw, err := cluster.Dial("redis://"+server.Addr(), budget)
	require.NoError(t, err)
	r, err := cluster.NewRegistry(raw, "test")
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return &stage{
		t: t, server: server, raw: raw, r: r, random: rand.New(rand.NewPCG(seed, 0)), model: newModel(1_800_000_000_000),
		asked: make(map[cluster.Target]cluster.Pause), seen: make(map[string]int),
	}
}
