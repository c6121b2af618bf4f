package agent_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

var errRefused = errors.New("connection refused")

// fake is a registry in memory. Its clock is the bubble's, moved by offset.
type fake struct {
	mu     sync.Mutex // guards the following
	epoch  int64
	nodes  map[string]cluster.Node
	left   map[string]cluster.Generation
	pauses map[cluster.Target]cluster.Pause
	ended  map[cluster.Target]int64 // the events: the epoch of the last resume
	offset time.Duration

	// fault, unless nil, is asked before each call, by name, and the call fails
	// with its error. It is called without the lock and may take its time.
	fault func(ctx context.Context, name string) error

	born  time.Time
	calls []call
}

// call is one that the registry answered.
type call struct {
	at   time.Duration // since the fake was made
	name string
}

func newFake() *fake {
	f := &fake{born: time.Now()}
	f.flush()
	return f
}

func (f *fake) flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.epoch = 0
	f.nodes = make(map[string]cluster.Node)
	f.left = make(map[string]cluster.Generation)
	f.pauses = make(map[cluster.Target]cluster.Pause)
	f.ended = make(map[cluster.Target]int64)
}

// do makes one call.
func (f *fake) do(ctx context.Context, name string, body func() error) error {
	f.mu.Lock()
	fault := f.fault
	f.mu.Unlock()
	if fault != nil {
		if err := fault(ctx, name); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, call{time.Since(f.born), name})
	return body()
}

func (f *fake) now() cluster.Millis { return cluster.Millis(time.Now().Add(f.offset).UnixMilli()) }

func (f *fake) rise() { f.epoch = max(f.epoch+1, int64(f.now())) }

// standing is that of the scripts (common.lua).
func (f *fake) standing(id string, g cluster.Generation) error {
	current, gone := f.nodes[id].Generation, f.left[id]
	switch {
	case current == g:
		return nil
	case current != "" && g.Less(current), gone != "" && g.Less(gone):
		return cluster.ErrSuperseded
	case gone == g:
		return cluster.ErrLeft
	}
	return cluster.ErrUnknown
}

func (f *fake) Born(ctx context.Context, id string) (g cluster.Generation, now cluster.Millis, err error) {
	err = f.do(ctx, "born", func() error {
		now = f.now()
		g = cluster.NewGeneration(now, f.nodes[id].Generation, f.left[id])
		return nil
	})
	return g, now, err
}

func (f *fake) Register(ctx context.Context, d cluster.Descriptor, rep cluster.Report) (_ cluster.Descriptor, epoch int64, err error) {
	err = f.do(ctx, "register", func() error {
		if err := f.standing(d.ID, d.Generation); err != nil && !errors.Is(err, cluster.ErrUnknown) {
			return err
		}
		rep.Generation = d.Generation
		f.nodes[d.ID] = cluster.Node{Descriptor: d, Report: rep, Pulse: f.now()}
		f.rise()
		epoch = f.epoch
		return nil
	})
	return d, epoch, err
}

func (f *fake) Pulse(ctx context.Context, id string, g cluster.Generation, figures *cluster.Figures) (epoch int64, err error) {
	err = f.do(ctx, "pulse", func() error {
		n := f.nodes[id]
		n.Pulse, n.Figures = f.now(), cmp.Or(figures, n.Figures)
		epoch = f.epoch
		return f.put(g, id, n)
	})
	return epoch, err
}

func (f *fake) Report(ctx context.Context, id string, rep cluster.Report) (epoch int64, err error) {
	err = f.do(ctx, "report "+string(rep.Status), func() error {
		n := f.nodes[id]
		moves := n.Report.Status != rep.Status || n.Report.Reason != rep.Reason
		n.Report = rep
		err := f.put(rep.Generation, id, n)
		if err == nil && moves {
			f.rise()
		}
		epoch = f.epoch
		return err
	})
	return epoch, err
}

func (f *fake) put(g cluster.Generation, id string, n cluster.Node) error {
	err := f.standing(id, g)
	if err == nil {
		f.nodes[id] = n
	}
	return err
}

func (f *fake) Leave(ctx context.Context, id string, g cluster.Generation) (epoch int64, err error) {
	err = f.do(ctx, "leave", func() error {
		if err := f.standing(id, g); err != nil {
			return err
		}
		delete(f.nodes, id)
		f.left[id] = g
		f.rise()
		epoch = f.epoch
		return nil
	})
	return epoch, err
}

func (f *fake) Epoch(ctx context.Context, _ cluster.Counts) (epoch int64, err error) {
	err = f.do(ctx, "epoch", func() error {
		epoch = f.epoch
		return nil
	})
	return epoch, err
}

func (f *fake) Snapshot(ctx context.Context, wall func() time.Time) (s *cluster.Snapshot, err error) {
	err = f.do(ctx, "snapshot", func() error {
		s = &cluster.Snapshot{Epoch: f.epoch, Time: f.now(), ReadAt: wall(), Pauses: maps.Clone(f.pauses)}
		for _, id := range slices.Sorted(maps.Keys(f.nodes)) {
			s.Nodes = append(s.Nodes, f.nodes[id])
		}
		return nil
	})
	return s, err
}

func (f *fake) Reassert(ctx context.Context, target cluster.Target, p cluster.Pause, _ string) (written bool, err error) {
	err = f.do(ctx, "reassert "+target.String(), func() error {
		if _, stands := f.pauses[target]; stands || f.ended[target] > p.Epoch {
			return nil
		}
		f.rise()
		p.Epoch = f.epoch
		f.pauses[target] = p
		written = true
		return nil
	})
	return written, err
}

// pause puts a pause on target for d, without end if d is zero.
func (f *fake) pause(target cluster.Target, mode cluster.Mode, d time.Duration) {
	f.change(func() {
		p := cluster.Pause{Mode: mode, By: "ops", Since: f.now(), Epoch: max(f.epoch+1, int64(f.now()))}
		if d != 0 {
			p.Until = f.now().Add(d)
		}
		f.pauses[target] = p
	})
}

func (f *fake) resume(target cluster.Target) {
	f.change(func() {
		delete(f.pauses, target)
		f.ended[target] = max(f.epoch+1, int64(f.now()))
	})
}

// change is one by somebody else.
func (f *fake) change(what func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	what()
	f.rise()
}

// breaks has every call fail with fault from now on; nil mends it.
func (f *fake) breaks(fault func(ctx context.Context, name string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// step moves the clock.
func (f *fake) step(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.offset += d
}

func (f *fake) current() (epoch int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.epoch
}

func refuse(context.Context, string) error { return errRefused }

// hang is a dead peer: nothing comes back.
func hang(ctx context.Context, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

// on returns the pause on target, the zero one if there is none.
func (f *fake) on(target cluster.Target) cluster.Pause {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pauses[target]
}

func (f *fake) node(id string) cluster.Node {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nodes[id]
}

// times returns when calls of that name were answered, since then.
func (f *fake) times(name string, since time.Duration) (at []time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if c.name == name && c.at >= since {
			at = append(at, c.at)
		}
	}
	return at
}

// names returns the calls' names in order, looks left out.
func (f *fake) names() (names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if c.name != "epoch" && c.name != "snapshot" && c.name != "born" {
			names = append(names, c.name)
		}
	}
	return names
}
