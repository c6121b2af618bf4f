package awsevents

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// memory is a registry in this process: the same words, without the scripts.
// Its nodes pulse whenever it is read.
type memory struct {
	now    time.Time
	epoch  int64
	nodes  []cluster.Node
	groups map[string]cluster.Group
	pauses map[cluster.Target]cluster.Pause
	work   map[string]string
	seen   map[string]bool
}

func (m *memory) wall() time.Time { return m.now }

func (m *memory) Snapshot(context.Context, func() time.Time) (*cluster.Snapshot, error) {
	s := &cluster.Snapshot{Epoch: m.epoch, Time: cluster.Millis(m.now.UnixMilli()), ReadAt: m.now, Groups: m.groups, Pauses: maps.Clone(m.pauses)}
	for _, n := range m.nodes {
		n.Pulse = s.Time
		s.Nodes = append(s.Nodes, n)
	}
	return s, nil
}

func (m *memory) Seen(_ context.Context, id string) (bool, error) { return m.seen[id], nil }

func (m *memory) MarkSeen(_ context.Context, id string) error {
	m.seen[id] = true
	return nil
}

func (m *memory) Work(context.Context) (map[string]string, error) { return maps.Clone(m.work), nil }

func (m *memory) SwapWork(_ context.Context, _ *cluster.Lease, name, old, body string) error {
	if m.work[name] != old {
		return cluster.ErrConflict
	}
	m.work[name] = body
	if body == "" {
		delete(m.work, name)
	}
	return nil
}

func (m *memory) SwapPause(_ context.Context, t cluster.Target, old int64, p *cluster.Pause, _, _ string) (int64, error) {
	if m.pauses[t].Epoch != old {
		return 0, cluster.ErrConflict
	}
	m.epoch++
	delete(m.pauses, t)
	if p != nil {
		stored := *p
		stored.Epoch = m.epoch
		m.pauses[t] = stored
	}
	return m.epoch, nil
}

// inMemory returns a scene that begins as w is.
func inMemory(w *world) *scene {
	s := w.snapshot()
	m := &memory{
		now: w.now, epoch: s.Epoch, nodes: s.Nodes, groups: s.Groups,
		pauses: make(map[cluster.Target]cluster.Pause), work: make(map[string]string), seen: make(map[string]bool),
	}
	aws := newAWS()
	h := New(m, Clients{aws, aws}, w.handler.config, m.wall, slog.New(slog.DiscardHandler))
	return &scene{h, aws, func(d time.Duration) { m.now = m.now.Add(d) }}
}
