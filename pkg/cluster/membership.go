package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// tombstone is how long a generation that left is remembered, so that none of
// its late pulses brings it back.
const tombstone = 10 * time.Minute

// Register writes d, its report and one pulse, so that the node is offered at
// once if status is active. It returns the descriptor as registered, with
// its generation and start, and the epoch.
//
// Without a generation d is a new start of the node, unless the registry holds
// the same descriptor already: then that one's generation stands. With one it is
// that life, as a node that heals a lost registry says; then [ErrLeft] and
// [ErrSuperseded] may come back. Errors of form wrap [ErrInvalid].
func (r *Registry) Register(ctx context.Context, d Descriptor, rep Report) (Descriptor, int64, error) {
	if err := d.Check(); err != nil {
		return d, 0, err
	}
	now, err := r.complete(ctx, &d)
	if err != nil {
		return d, 0, fmt.Errorf("register node %s: %w", d.ID, err)
	}
	rep.Generation = d.Generation
	descriptor, err := json.Marshal(d)
	if err != nil {
		return d, 0, fmt.Errorf("encode node %s: %w", d.ID, err)
	}
	report, err := json.Marshal(rep)
	if err != nil {
		return d, 0, fmt.Errorf("encode report of node %s: %w", d.ID, err)
	}
	re, err := r.runAt(ctx, now, registerScript, d.ID, string(d.Generation), descriptor, report)
	if err != nil {
		return d, 0, fmt.Errorf("register node %s: %w", d.ID, err)
	}
	return d, re.number, nil
}

// complete gives d, unless it has a generation, the one and the start of the
// registered descriptor that says the same, or else those of a node that starts
// now. It returns the registry's time.
func (r *Registry) complete(ctx context.Context, d *Descriptor) (Millis, error) {
	if d.Generation != "" {
		return r.Time(ctx)
	}
	now, old, left, err := r.lives(ctx, d.ID)
	if err != nil {
		return 0, err
	}
	same := *d
	same.Generation, same.Started = old.Generation, old.Started
	if reflect.DeepEqual(same, old) {
		*d = same
		return now, nil
	}
	d.Generation = NewGeneration(now, old.Generation, left)
	if d.Started == 0 {
		d.Started = now
	}
	return now, nil
}

// Born returns the generation of a node called id that starts now, and the
// registry's time. It is later than the one that is registered and the one that
// left last, even where the registry's clock has stepped back since.
func (r *Registry) Born(ctx context.Context, id string) (Generation, Millis, error) {
	now, old, left, err := r.lives(ctx, id)
	if err != nil {
		return "", 0, fmt.Errorf("birth of node %s: %w", id, err)
	}
	return NewGeneration(now, old.Generation, left), now, nil
}

// lives returns the registry's time and what it knows of the node called id:
// its descriptor, and the generation that left last. Either is zero where there
// is none that can be read.
func (r *Registry) lives(ctx context.Context, id string) (now Millis, old Descriptor, left Generation, err error) {
	var body, gone *redis.StringCmd
	var clock *redis.TimeCmd
	err = r.read(ctx, func(p redis.Cmdable) error {
		pipe := p.Pipeline()
		body, gone, clock = pipe.HGet(ctx, r.keys.nodes, id), pipe.HGet(ctx, r.keys.left, id), pipe.Time(ctx)
		if err := execute(ctx, pipe); err != nil {
			return fmt.Errorf("read registry: %w", err)
		}
		return nil
	})
	if err != nil {
		return 0, Descriptor{}, "", err
	}
	if json.Unmarshal([]byte(body.Val()), &old) != nil {
		old = Descriptor{}
	}
	word, _, _ := strings.Cut(gone.Val(), " ")
	return Millis(clock.Val().UnixMilli()), old, Generation(word), nil
}

// Pulse says that generation g of the node called id lives, with its figures
// unless f is nil, and returns the epoch. [ErrUnknown] comes back when the node
// must register again, [ErrLeft] and [ErrSuperseded] when it must end,
// [ErrInvalid] for a load that is no number.
func (r *Registry) Pulse(ctx context.Context, id string, g Generation, f *Figures) (int64, error) {
	var body []byte
	if f != nil {
		if !finite(f.Load) {
			return 0, fmt.Errorf("%w: load %g of node %s", ErrInvalid, f.Load, id)
		}
		var err error
		if body, err = json.Marshal(f); err != nil {
			return 0, fmt.Errorf("encode figures of node %s: %w", id, err)
		}
	}
	re, err := r.run(ctx, pulseScript, id, string(g), body)
	if err != nil {
		return 0, fmt.Errorf("pulse of node %s: %w", id, err)
	}
	return re.number, nil
}

// Report replaces what generation rep.Generation of the node called id reports,
// and returns the epoch, which moves if the report differs. Its errors are those
// of [Registry.Pulse].
func (r *Registry) Report(ctx context.Context, id string, rep Report) (int64, error) {
	body, err := json.Marshal(rep)
	if err != nil {
		return 0, fmt.Errorf("encode report of node %s: %w", id, err)
	}
	re, err := r.run(ctx, reportScript, id, string(rep.Generation), body)
	if err != nil {
		return 0, fmt.Errorf("report of node %s: %w", id, err)
	}
	return re.number, nil
}

// Leave removes generation g of the node called id and remembers for ten minutes
// that it left. Its errors are those of [Registry.Pulse].
func (r *Registry) Leave(ctx context.Context, id string, g Generation) (int64, error) {
	now, err := r.Time(ctx)
	if err != nil {
		return 0, fmt.Errorf("leave of node %s: %w", id, err)
	}
	re, err := r.runAt(ctx, now, leaveScript, id, string(g), int64(now.Add(tombstone)))
	if err != nil {
		return 0, fmt.Errorf("leave of node %s: %w", id, err)
	}
	return re.number, nil
}
