package cluster

import (
	"context"
	"fmt"
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
	key := r.statsKey(c.minute)
	for name, n := range c.by {
		pipe.HIncrBy(ctx, key, name, n)
	}
	pipe.Expire(ctx, key, statsTTL)
}

func (r *Registry) statsKey(minute int64) string { return r.keys.stats + strconv.FormatInt(minute, 10) }

// Erase removes everything that the registry holds of its cluster, and the counts
// made since began. It is for clusters that were made for a test or a demo.
func (r *Registry) Erase(ctx context.Context, began Millis) error {
	now, err := r.Time(ctx)
	if err != nil {
		return fmt.Errorf("erase cluster: %w", err)
	}
	keys := append(r.keys.declared(), r.keys.seen(), r.keys.holds)
	for m := int64(began) / time.Minute.Milliseconds(); m <= int64(now)/time.Minute.Milliseconds(); m++ {
		keys = append(keys, r.statsKey(m))
	}
	if err := r.client.Del(ctx, keys...).Err(); err != nil {
		return fmt.Errorf("erase cluster: %w", err)
	}
	return nil
}
