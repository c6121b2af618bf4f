package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
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
	now, err := r.Time(ctx)
	if err != nil {
		return d, 0, fmt.Errorf("register node %s: %w", d.ID, err)
	}
	if d.Generation == "" {
		if err := r.born(ctx, &d, now); err != nil {
			return d, 0, fmt.Errorf("register node %s: %w", d.ID, err)
		}
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

// born gives d the generation and the start of the registered descriptor that
// says the same, or else those of a node that starts now.
func (r *Registry) born(ctx context.Context, d *Descriptor, now Millis) error {
	body, err := r.field(ctx, r.keys.nodes, d.ID)
	if err != nil {
		return err
	}
	gone, err := r.field(ctx, r.keys.left, d.ID)
	if err != nil {
		return err
	}
	var old Descriptor
	if json.Unmarshal([]byte(body), &old) == nil {
		same := *d
		same.Generation, same.Started = old.Generation, old.Started
		if reflect.DeepEqual(same, old) {
			*d = same
			return nil
		}
	}
	left, _, _ := strings.Cut(gone, " ")
	d.Generation = NewGeneration(now, old.Generation, Generation(left))
	if d.Started == 0 {
		d.Started = now
	}
	return nil
}

// Pulse says that generation g of the node called id lives, with its figures
// unless f is nil, and returns the epoch. [ErrUnknown] comes back when the node
// must register again, [ErrLeft] and [ErrSuperseded] when it must end.
func (r *Registry) Pulse(ctx context.Context, id string, g Generation, f *Figures) (int64, error) {
	var body []byte
	if f != nil {
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
