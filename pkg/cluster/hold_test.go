package cluster_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// place is one that ends at until.
func place(source, id string, until cluster.Millis) cluster.Place {
	return cluster.Place{Source: source, ID: id, Until: until}
}

func holds(t *testing.T, r *cluster.Registry, now cluster.Millis, p cluster.Place, most, each int) bool {
	t.Helper()
	ok, err := r.Hold(t.Context(), now, p, most, each)
	require.NoError(t, err)
	return ok
}

func testPlacesAreLimitedAllInAllAndBySource(t *testing.T, r *cluster.Registry, _ redis.UniversalClient) {
	for i, c := range []struct {
		place      cluster.Place
		most, each int
		want       bool
		why        string
	}{
		{place("a", "1", 9), 0, 9, false, "nobody may be held"},
		{place("a", "1", 9), 9, 0, false, "nobody of one source may be"},
		{place("a", "1", 9), 3, 2, true, "the first"},
		{place("a", "2", 9), 3, 2, true, "as many as one source may have"},
		{place("a", "3", 9), 3, 2, false, "one more of that source"},
		{place("aa", "1", 9), 3, 2, true, "another source, though its name begins alike"},
		{place("b", "1", 9), 3, 2, false, "all places are taken"},
	} {
		assert.Equal(t, c.want, holds(t, r, 1, c.place, c.most, c.each), "%d: %s", i, c.why)
	}
	require.NoError(t, r.Release(t.Context(), place("a", "1", 9)))
	require.NoError(t, r.Release(t.Context(), place("a", "1", 9)), "given back already")
	assert.True(t, holds(t, r, 1, place("b", "1", 9), 3, 2), "one was given back")

	var crowd sync.WaitGroup
	var held atomic.Int64
	for i := range 50 {
		crowd.Go(func() {
			if ok, err := r.Hold(t.Context(), 1, place(strconv.Itoa(i), "x", 9), 13, 1); ok && err == nil {
				held.Add(1)
			}
		})
	}
	crowd.Wait()
	assert.EqualValues(t, 10, held.Load(), "beside the three that are held")
}

func testAPlaceEndsByItself(t *testing.T, r *cluster.Registry, _ redis.UniversalClient) {
	require.True(t, holds(t, r, 1, place("a", "1", 1000), 1, 1))
	assert.False(t, holds(t, r, 999, place("a", "2", 2000), 1, 1), "until the last millisecond")
	assert.True(t, holds(t, r, 1000, place("a", "2", 2000), 1, 1))
}
