package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Epoch returns the registry's epoch, zero where it holds none. Counts, if
// there are any, ride along in the same round trip.
func (r *Registry) Epoch(ctx context.Context, c Counts) (epoch int64, err error) {
	err = r.read(ctx, func(p redis.Cmdable) (err error) {
		if len(c.by) == 0 {
			epoch, err = epochOf(r.lookAtEpoch(ctx, p))
			return err
		}
		pipe := p.Pipeline()
		look := r.lookAtEpoch(ctx, pipe)
		r.queueCounts(ctx, pipe, c)
		_, _ = pipe.Exec(ctx) // look tells what matters; a count that is refused is lost
		epoch, err = epochOf(look)
		return err
	})
	return epoch, err
}

func epochOf(get *redis.StringCmd) (int64, error) {
	text, err := get.Result()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read epoch: %w", err)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, nil // the next change sets it right
	}
	return n, nil
}

// Snapshot reads the whole registry in one round trip, the epoch first: a change
// that comes in between is seen as a moved epoch by the next look. wall tells
// this machine's wall clock. Entries that cannot be read are left out and named
// in Broken; an error means that nothing could be read.
func (r *Registry) Snapshot(ctx context.Context, wall func() time.Time) (s *Snapshot, err error) {
	err = r.read(ctx, func(p redis.Cmdable) (err error) {
		s, err = r.snapshot(ctx, p, wall)
		return err
	})
	return s, err
}

func (r *Registry) snapshot(ctx context.Context, p redis.Cmdable, wall func() time.Time) (*Snapshot, error) {
	pipe := p.Pipeline()
	epoch := r.lookAtEpoch(ctx, pipe)
	nodes := pipe.HGetAll(ctx, r.keys.nodes)
	reports := pipe.HGetAll(ctx, r.keys.reports)
	figures := pipe.HGetAll(ctx, r.keys.figures)
	pulses := pipe.ZRangeWithScores(ctx, r.keys.pulses, 0, -1)
	pauses := pipe.HGetAll(ctx, r.keys.pauses)
	groups := pipe.HGetAll(ctx, r.keys.groups)
	clock := pipe.Time(ctx)
	if err := execute(ctx, pipe); err != nil {
		return nil, fmt.Errorf("read registry: %w", err)
	}
	s := &Snapshot{Time: Millis(clock.Val().UnixMilli()), ReadAt: wall()}
	s.Epoch, _ = epochOf(epoch)
	d := decoder{s: s, reports: reports.Val(), figures: figures.Val()}
	d.nodes(nodes.Val(), scores(pulses.Val()))
	d.pauses(pauses.Val())
	d.groups(groups.Val())
	return s, nil
}

// execute sends what pipe holds. That something is missing is no error. A sign-in
// that is refused leaves no command with one: only Exec itself tells of it.
func execute(ctx context.Context, pipe redis.Pipeliner) error {
	cmds, err := pipe.Exec(ctx)
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
	}
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}

// Aged reads only what ages without moving the epoch, the pulses, the figures
// and the clock, and returns s with these. The epoch is the one that s has.
func (r *Registry) Aged(ctx context.Context, s *Snapshot, wall func() time.Time) (*Snapshot, error) {
	var figures *redis.MapStringStringCmd
	var pulses *redis.ZSliceCmd
	var clock *redis.TimeCmd
	err := r.read(ctx, func(p redis.Cmdable) error {
		pipe := p.Pipeline()
		figures = pipe.HGetAll(ctx, r.keys.figures)
		pulses = pipe.ZRangeWithScores(ctx, r.keys.pulses, 0, -1)
		clock = pipe.Time(ctx)
		_, err := pipe.Exec(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read pulses: %w", err)
	}
	aged := *s
	aged.Time, aged.ReadAt = Millis(clock.Val().UnixMilli()), wall()
	aged.Broken = slices.DeleteFunc(slices.Clone(s.Broken), func(b Broken) bool { return b.Key == "figures" })
	aged.Nodes = slices.Clone(s.Nodes)
	heard := scores(pulses.Val())
	d := decoder{s: &aged, figures: figures.Val()}
	for i := range aged.Nodes {
		n := &aged.Nodes[i]
		if pulse, ok := heard[n.ID]; ok {
			n.Pulse = pulse
		}
		n.Figures = d.figuresOf(n.ID)
	}
	return &aged, nil
}

// scores turns a pulse set into instants within what a score holds exactly.
func scores(set []redis.Z) map[string]Millis {
	m := make(map[string]Millis, len(set))
	for _, z := range set {
		if id, ok := z.Member.(string); ok {
			m[id] = Millis(min(max(z.Score, 1), float64(forever)))
		}
	}
	return m
}

// decoder fills a snapshot; what it cannot read it counts in Broken.
type decoder struct {
	s                *Snapshot
	reports, figures map[string]string
}

// shown is how much is told of what cannot be read: it may be megabytes.
const shown = 200

func (d *decoder) broken(key, field string, err error) {
	if text := err.Error(); len(text) > shown {
		err = fmt.Errorf("%w: %s…", ErrInvalid, text[:shown])
	}
	d.s.Broken = append(d.s.Broken, Broken{key, field[:min(len(field), shown)], err})
}

var errNoPulse = errors.New("node without a pulse")

func (d *decoder) nodes(bodies map[string]string, pulses map[string]Millis) {
	d.s.Nodes = make([]Node, 0, len(bodies))
	for _, id := range slices.Sorted(maps.Keys(bodies)) {
		n := Node{Pulse: pulses[id]}
		if err := readDescriptor(id, bodies[id], &n.Descriptor); err != nil {
			d.broken("nodes", id, err)
			continue
		}
		if n.Pulse == 0 {
			d.broken("pulses", id, errNoPulse)
			continue
		}
		n.Report = d.reportOf(&n)
		n.Figures = d.figuresOf(id)
		d.s.Nodes = append(d.s.Nodes, n)
	}
}

func readDescriptor(id, body string, d *Descriptor) error {
	if err := decodeDescriptor(body, d); err != nil {
		return err
	}
	if d.ID != id {
		return fmt.Errorf("%w: field %.40q holds node %.40q", ErrInvalid, id, d.ID)
	}
	return d.Check()
}

// reportOf returns n's report, none where it is missing, unreadable or of
// another generation: such a node is not active.
func (d *decoder) reportOf(n *Node) Report {
	body, ok := d.reports[n.ID]
	if !ok {
		return Report{}
	}
	var r Report
	if err := decodeReport(body, &r); err != nil {
		d.broken("reports", n.ID, err)
		return Report{}
	}
	if r.Generation != n.Generation {
		return Report{}
	}
	return r
}

func (d *decoder) figuresOf(id string) *Figures {
	body, ok := d.figures[id]
	if !ok {
		return nil
	}
	var f Figures
	if err := decodeFigures(body, &f); err != nil {
		d.broken("figures", id, err)
		return nil
	}
	return &f
}

// pauses never loses one whose target can be read: of an unreadable body only
// the worst can be assumed, a redirect without end.
func (d *decoder) pauses(bodies map[string]string) {
	d.s.Pauses = make(map[Target]Pause, len(bodies))
	for field, body := range bodies {
		target, err := ParseTarget(field)
		if err != nil {
			d.broken("pauses", field, err)
			continue
		}
		var p Pause
		if err := json.Unmarshal([]byte(body), &p); err != nil {
			d.broken("pauses", field, err)
			p = Pause{Mode: Redirect, Reason: "unreadable pause"}
		}
		d.s.Pauses[target] = p
	}
}

func (d *decoder) groups(bodies map[string]string) {
	d.s.Groups = make(map[string]Group, len(bodies))
	for id, body := range bodies {
		var g Group
		err := json.Unmarshal([]byte(body), &g)
		if err == nil {
			g.ID = id
			err = g.Check()
		}
		if err != nil {
			d.broken("groups", id, err)
			continue
		}
		d.s.Groups[id] = g
	}
}
