package cluster

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// statsTTL is how long a minute's counts are kept.
const statsTTL = 25 * time.Hour

// Counts are numbers by name (an outcome, an origin, a node), of the minute in
// which the first of them was counted. The zero value is empty.
type Counts struct {
	minute int64
	by     map[string]int64
}

// Add adds one to each of names.
func (c *Counts) Add(now Millis, names ...string) {
	if c.by == nil {
		*c = Counts{minute: int64(now) / time.Minute.Milliseconds(), by: make(map[string]int64)}
	}
	for _, n := range names {
		c.by[n]++
	}
}

// queueCounts adds c to the registry's hash of its minute.
func (r *Registry) queueCounts(ctx context.Context, pipe redis.Pipeliner, c Counts) {
	key := r.keys.stats + strconv.FormatInt(c.minute, 10)
	for name, n := range c.by {
		pipe.HIncrBy(ctx, key, name, n)
	}
	pipe.Expire(ctx, key, statsTTL)
}
