package cluster

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Mend makes whole what s, a snapshot read just now, leaves out for having a part
// of a record only: a node without a pulse gets one of now, so that it ages from
// there; pulses, reports and figures without a descriptor are removed. It returns
// the ids. [ErrFenced] as for Prune.
func (r *Registry) Mend(ctx context.Context, l Lease, s *Snapshot) ([]string, error) {
	var parts []*redis.StringSliceCmd
	err := r.read(ctx, func(p redis.Cmdable) error {
		pipe := p.Pipeline()
		parts = []*redis.StringSliceCmd{
			pipe.ZRange(ctx, r.keys.pulses, 0, -1), pipe.HKeys(ctx, r.keys.reports), pipe.HKeys(ctx, r.keys.figures),
		}
		_, err := pipe.Exec(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("mend: read registry: %w", err)
	}
	whole := make(map[string]bool, len(s.Nodes))
	for i := range s.Nodes {
		whole[s.Nodes[i].ID] = true
	}
	var half []string
	for _, b := range s.Broken {
		if b.Key == "pulses" {
			half = append(half, b.Field)
		}
	}
	for _, ids := range parts {
		for _, id := range ids.Val() {
			if !whole[id] {
				half = append(half, id)
			}
		}
	}
	slices.Sort(half)
	mended, err := r.inBatches(ctx, mendScript, l, slices.Compact(half))
	if err != nil {
		return mended, fmt.Errorf("mend: %w", err)
	}
	return mended, nil
}

// Forget removes the tombstones whose time is over and returns the ids.
// [ErrFenced] as for Prune.
func (r *Registry) Forget(ctx context.Context, l Lease) ([]string, error) {
	now, err := r.Time(ctx)
	if err != nil {
		return nil, fmt.Errorf("forget who left: %w", err)
	}
	var left map[string]string
	err = r.read(ctx, func(p redis.Cmdable) (err error) {
		left, err = p.HGetAll(ctx, r.keys.left).Result()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("forget who left: read registry: %w", err)
	}
	var over []string
	for id, stone := range left {
		_, until, _ := strings.Cut(stone, " ")
		if ms, err := strconv.ParseInt(until, 10, 64); err != nil || Millis(ms) <= now {
			over = append(over, id)
		}
	}
	forgotten, err := r.inBatches(ctx, forgetScript, l, over)
	if err != nil {
		return forgotten, fmt.Errorf("forget who left: %w", err)
	}
	return forgotten, nil
}

// inBatches runs s on ids under the fence and returns those that it lists.
func (r *Registry) inBatches(ctx context.Context, s *redis.Script, l Lease, ids []string) (done []string, err error) {
	for batch := range slices.Chunk(ids, sweepBatch) {
		args := []any{l.Fence}
		for _, id := range batch {
			args = append(args, id)
		}
		re, err := r.run(ctx, s, args...)
		if err != nil {
			return done, err
		}
		done = append(done, re.list...)
	}
	return done, nil
}
