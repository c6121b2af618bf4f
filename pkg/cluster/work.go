package cluster

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/work.lua
var workLua string

//go:embed lua/swap.lua
var swapLua string

var (
	workScript = redis.NewScript(commonLua + workLua)
	swapScript = redis.NewScript(commonLua + swapLua)
)

// RulePrefix begins the names of work that is what is remembered of listener rules.
const RulePrefix = "rule:"

// sweepNotes is the field of the work hash that holds no work, see [Registry.Notes].
const sweepNotes = "sweep"

// Work returns what is pending, JSON objects by name, what is remembered of rules
// apart. What they say is their owner's business.
func (r *Registry) Work(ctx context.Context) (map[string]string, error) {
	return r.workThat(ctx, func(name string) bool { return name != sweepNotes && !strings.HasPrefix(name, RulePrefix) })
}

// RuleWork returns what is remembered of listener rules, JSON objects by name:
// [RulePrefix] and the rule's ARN.
func (r *Registry) RuleWork(ctx context.Context) (map[string]string, error) {
	return r.workThat(ctx, func(name string) bool { return strings.HasPrefix(name, RulePrefix) })
}

func (r *Registry) workThat(ctx context.Context, wanted func(name string) bool) (map[string]string, error) {
	all, err := r.client.HGetAll(ctx, r.keys.work).Result()
	if err != nil {
		return nil, fmt.Errorf("read work: %w", err)
	}
	maps.DeleteFunc(all, func(name, _ string) bool { return !wanted(name) })
	return all, nil
}

// SwapWork stores body, a JSON object, as the work called name, or removes it if
// body is empty, provided that the registry holds old there, empty for none.
// [ErrConflict] comes back where it holds something else, [ErrFenced] when
// another sweeper than l's has taken over; a nil l is nobody's sweep.
func (r *Registry) SwapWork(ctx context.Context, l *Lease, name, old, body string) error {
	fence := ""
	if l != nil {
		fence = strconv.FormatInt(l.Fence, 10)
	}
	if _, err := r.run(ctx, workScript, fence, name, old, body); err != nil {
		return fmt.Errorf("store work %s: %w", name, err)
	}
	return nil
}

// SwapPause puts p on target in place of the pause whose epoch is old, zero for
// none, or lifts that one if p is nil. It returns the epoch that the change has
// set. [ErrConflict] comes back where another pause stands there, or none: what
// others have asked for meanwhile is kept. Unlike [Registry.Pause] it takes p's
// instants as they are.
func (r *Registry) SwapPause(ctx context.Context, target Target, old int64, p *Pause, by, reason string) (int64, error) {
	var body []byte
	if p != nil {
		var err error
		if body, err = encodePause(Pause{p.Mode, p.Reason, p.By, p.Since, p.Until, p.Deadline, 0}); err != nil {
			return 0, fmt.Errorf("encode pause of %s: %w", target, err)
		}
	} else if old == 0 {
		return 0, fmt.Errorf("%w: no pause of %s to lift", ErrInvalid, target)
	}
	re, err := r.run(ctx, swapScript, target.String(), old, body, by, reason)
	if err != nil {
		return 0, fmt.Errorf("swap pause of %s: %w", target, err)
	}
	return re.number, nil
}

// seenFor is how long the id of an event is remembered.
const seenFor = 24 * time.Hour

// seen is no key of scripts: each change of it is one command.
func (k *keys) seen() string { return strings.TrimSuffix(k.work, "work") + "seen" }

// Seen tells whether the event called id was marked within the last 24 hours.
func (r *Registry) Seen(ctx context.Context, id string) (bool, error) {
	now, err := r.Time(ctx)
	if err != nil {
		return false, fmt.Errorf("look for event %s: %w", id, err)
	}
	at, err := r.client.ZScore(ctx, r.keys.seen(), id).Result()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for event %s: %w", id, err)
	}
	return Millis(at) > now.Add(-seenFor), nil
}

// MarkSeen marks the event called id as handled, and forgets those that were
// marked more than 24 hours ago.
func (r *Registry) MarkSeen(ctx context.Context, id string) error {
	now, err := r.Time(ctx)
	if err != nil {
		return fmt.Errorf("mark event %s: %w", id, err)
	}
	pipe := r.client.Pipeline()
	pipe.ZAdd(ctx, r.keys.seen(), redis.Z{Score: float64(now), Member: id})
	pipe.ZRemRangeByScore(ctx, r.keys.seen(), "-inf", strconv.FormatInt(int64(now.Add(-seenFor)), 10))
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("mark event %s: %w", id, err)
	}
	return nil
}
