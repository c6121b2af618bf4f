package cluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Errors of a registry's changes. Those of the network and of Redis come back
// wrapped as they are.
var (
	// ErrUnknown reports a node that is not registered, or not as this
	// generation: it must register again.
	ErrUnknown = errors.New("cluster: node is not registered")
	// ErrLeft reports that this generation of the node has left.
	ErrLeft = errors.New("cluster: node has left")
	// ErrSuperseded reports that a newer generation has the node's id.
	ErrSuperseded = errors.New("cluster: a newer node has this id")
	// ErrHeld reports that another sweeper holds the lease.
	ErrHeld = errors.New("cluster: another sweeper holds the lease")
	// ErrFenced reports that another sweeper has taken over since.
	ErrFenced = errors.New("cluster: another sweeper has taken over")
	// ErrConflict reports that a record was changed by someone else meanwhile.
	ErrConflict = errors.New("cluster: record changed meanwhile")
)

// Registry is one cluster's registry on Redis or Valkey. Its methods are safe
// for concurrent use and take the time that their context leaves them.
type Registry struct {
	client redis.UniversalClient
	keys   keys
}

// keys are the full names of the cluster's keys, all in one hash slot.
type keys struct {
	nodes, reports, figures, pulses, pauses, groups string
	epoch, left, lease, fence, events, work         string
	stats, holds, changes                           string
}

// NewRegistry returns the registry of the cluster called name, which must be an
// id ([CheckID]); the registry owns client, which is one of [Dial].
func NewRegistry(client redis.UniversalClient, name string) (*Registry, error) {
	if err := CheckID(name); err != nil {
		return nil, fmt.Errorf("cluster name: %w", err)
	}
	p := "{detour:" + name + "}"
	return &Registry{client: client, keys: keys{
		nodes: p + ":nodes", reports: p + ":reports", figures: p + ":figures", pulses: p + ":pulses",
		pauses: p + ":pauses", groups: p + ":groups", epoch: p + ":epoch", left: p + ":left",
		lease: p + ":lease", fence: p + ":fence", events: p + ":events", work: p + ":work",
		stats: p + ":stats:", holds: p + ":holds", changes: p + ":changes",
	}}, nil
}

// Close closes the connections.
func (r *Registry) Close() error { return r.client.Close() }

// declared are the KEYS of every script, in the order that common.lua names them.
func (k *keys) declared() []string {
	return []string{
		k.nodes, k.reports, k.figures, k.pulses, k.pauses, k.groups,
		k.epoch, k.left, k.lease, k.fence, k.events, k.work,
	}
}

// Time returns the registry's clock.
func (r *Registry) Time(ctx context.Context) (now Millis, err error) {
	err = r.read(ctx, func(p redis.Cmdable) error {
		t, err := p.Time(ctx).Result()
		now = Millis(t.UnixMilli())
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read registry time: %w", err)
	}
	return now, nil
}

// field reads one field of a hash, "" where there is none.
func (r *Registry) field(ctx context.Context, key, name string) (string, error) {
	var body string
	err := r.read(ctx, func(p redis.Cmdable) (err error) {
		body, err = p.HGet(ctx, key, name).Result()
		return err
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("read registry: %w", err)
	}
	return body, nil
}

// reply is what a script answers: a word, the epoch or the fence, and a list.
type reply struct {
	word   string
	number int64
	list   []string
}

// run runs a script at the registry's time.
func (r *Registry) run(ctx context.Context, s *redis.Script, args ...any) (reply, error) {
	now, err := r.Time(ctx)
	if err != nil {
		return reply{}, err
	}
	return r.runAt(ctx, now, s, args...)
}

func (r *Registry) runAt(ctx context.Context, now Millis, s *redis.Script, args ...any) (reply, error) {
	args = append([]any{int64(now), r.keys.changes}, args...)
	list, err := s.Run(ctx, r.client, r.keys.declared(), args...).StringSlice()
	if err != nil {
		return reply{}, scriptError(err)
	}
	if len(list) < 2 {
		return reply{}, fmt.Errorf("cluster: script replied %q", list)
	}
	n, err := strconv.ParseInt(list[1], 10, 64)
	if err != nil {
		return reply{}, fmt.Errorf("cluster: script replied %q: %w", list, err)
	}
	return reply{list[0], n, list[2:]}, wordError(list[0])
}

// scriptError turns a script's refusal into [ErrInvalid].
func scriptError(err error) error {
	if what, ok := strings.CutPrefix(err.Error(), "DETOUR invalid "); ok {
		return fmt.Errorf("%w: %s", ErrInvalid, what)
	}
	return fmt.Errorf("run script: %w", err)
}

func wordError(word string) error {
	switch word {
	case "register":
		return ErrUnknown
	case "left":
		return ErrLeft
	case "superseded":
		return ErrSuperseded
	case "held":
		return ErrHeld
	case "fenced":
		return ErrFenced
	case "conflict":
		return ErrConflict
	}
	return nil
}
