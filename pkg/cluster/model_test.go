package cluster_test

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/pkg/cluster"
)

// record is what the model knows of a registered node. A pulse of zero was lost.
type record struct {
	cluster.Descriptor
	report  cluster.Report
	figures *cluster.Figures
	pulse   cluster.Millis
}

// stone is what is remembered of a life that left.
type stone struct {
	generation cluster.Generation
	until      cluster.Millis
}

// model is what a registry is said to be, in a few maps. Each of its methods makes
// one change, at now, and returns what the registry has to answer.
type model struct {
	now     cluster.Millis
	epoch   int64
	nodes   map[string]*record
	strays  map[string]bool // ids with parts of a record and no descriptor
	left    map[string]stone
	pauses  map[cluster.Target]cluster.Pause
	resumed map[cluster.Target]int64 // at which epoch last
	groups  map[string]cluster.Group
	fence   int64
	holder  string // of the lease
	expires time.Duration
	passed  time.Duration // since the registry began, whatever the clock says
}

func newModel(now cluster.Millis) *model {
	return &model{
		now: now, nodes: make(map[string]*record), strays: make(map[string]bool), left: make(map[string]stone),
		pauses: make(map[cluster.Target]cluster.Pause), resumed: make(map[cluster.Target]int64), groups: make(map[string]cluster.Group),
	}
}

func (m *model) rise() { m.epoch = max(m.epoch+1, int64(m.now)) }

// standing is what generation g of the node called id is to the registry.
func (m *model) standing(id string, g cluster.Generation) error {
	n, gone := m.nodes[id], m.left[id]
	switch {
	case n != nil && n.Generation == g:
		return nil
	case n != nil && g.Less(n.Generation), g.Less(gone.generation):
		return cluster.ErrSuperseded
	case g == gone.generation:
		return cluster.ErrLeft
	}
	return cluster.ErrUnknown
}

func (m *model) register(d cluster.Descriptor, status cluster.Status) error {
	err := m.standing(d.ID, d.Generation)
	if err != nil && !errors.Is(err, cluster.ErrUnknown) {
		return err
	}
	next := &record{Descriptor: d, report: cluster.Report{Generation: d.Generation, Status: status}, pulse: m.now}
	old := m.nodes[d.ID]
	if err == nil {
		next.figures = old.figures
	}
	if old == nil || old.pulse == 0 || !assert.ObjectsAreEqual(old.Descriptor, d) || !assert.ObjectsAreEqual(old.report, next.report) {
		m.rise()
	}
	m.nodes[d.ID] = next
	delete(m.strays, d.ID)
	return nil
}

func (m *model) pulse(id string, g cluster.Generation, f *cluster.Figures) error {
	if err := m.standing(id, g); err != nil {
		return err
	}
	n := m.nodes[id]
	if n.pulse == 0 {
		return cluster.ErrUnknown
	}
	n.pulse = m.now
	if f != nil {
		n.figures = f
	}
	return nil
}

func (m *model) report(id string, rep cluster.Report) error {
	err := m.standing(id, rep.Generation)
	if err == nil && m.nodes[id].report.Status != rep.Status {
		m.nodes[id].report = rep
		m.rise()
	}
	return err
}

func (m *model) leave(id string, g cluster.Generation) error {
	err := m.standing(id, g)
	if err == nil {
		delete(m.nodes, id)
		m.left[id] = stone{g, m.now.Add(10 * time.Minute)}
		m.rise()
	}
	return err
}

// lease takes the lease and returns the fence.
func (m *model) lease(token string, ttl time.Duration) (int64, error) {
	held := m.holder != "" && m.passed < m.expires
	if held && m.holder != token {
		return 0, cluster.ErrHeld
	}
	if !held {
		m.fence = max(m.fence+1, int64(m.now))
	}
	m.holder, m.expires = token, m.passed+ttl
	return m.fence, nil
}

// unheard returns those of nodes that are as they were read.
func (m *model) unheard(nodes []cluster.Node) (ids []string) {
	for _, n := range nodes {
		if is := m.nodes[n.ID]; is != nil && is.Generation == n.Generation && is.pulse == n.Pulse {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

func (m *model) prune(nodes []cluster.Node) []string {
	gone := m.unheard(nodes)
	for _, id := range gone {
		delete(m.nodes, id)
	}
	if len(gone) > 0 {
		m.rise()
	}
	return gone
}

func (m *model) stamp(nodes []cluster.Node) {
	for _, id := range m.unheard(nodes) {
		m.nodes[id].pulse = m.now
	}
}

func (m *model) mend() []string {
	mended := slices.Collect(maps.Keys(m.strays))
	clear(m.strays)
	strays := len(mended)
	for id, n := range m.nodes {
		if n.pulse == 0 {
			n.pulse = m.now
			mended = append(mended, id)
		}
	}
	if len(mended) > strays {
		m.rise()
	}
	slices.Sort(mended)
	return mended
}

func (m *model) tidy(targets []cluster.Target) (ended []string) {
	for _, t := range targets {
		if p, ok := m.pauses[t]; ok && !p.Covers(m.now) {
			ended = append(ended, t.String())
			delete(m.pauses, t)
		}
	}
	if len(ended) > 0 {
		m.rise()
		for _, text := range ended {
			t, _ := cluster.ParseTarget(text)
			m.resumed[t] = m.epoch
		}
	}
	return ended
}

func (m *model) forget() (ids []string) {
	for id, s := range m.left {
		if s.until <= m.now {
			ids = append(ids, id)
			delete(m.left, id)
		}
	}
	return ids
}

func (m *model) pause(t cluster.Target, p cluster.Pause) {
	m.rise()
	p.Epoch = m.epoch
	m.pauses[t] = p
}

func (m *model) resume(t cluster.Target) (was bool) {
	if _, was = m.pauses[t]; was {
		m.rise()
		m.resumed[t] = m.epoch
		delete(m.pauses, t)
	}
	return was
}

func (m *model) reassert(t cluster.Target, p cluster.Pause) bool {
	if _, stands := m.pauses[t]; stands || m.resumed[t] > p.Epoch {
		return false
	}
	m.pause(t, p)
	return true
}

func (m *model) group(g cluster.Group) {
	if old, ok := m.groups[g.ID]; !ok || !assert.ObjectsAreEqual(old, g) {
		m.groups[g.ID] = g
		m.rise()
	}
}

// whole returns the model's nodes as a snapshot holds them.
func (m *model) whole() (nodes []cluster.Node) {
	for _, id := range slices.Sorted(maps.Keys(m.nodes)) {
		if n := m.nodes[id]; n.pulse != 0 {
			nodes = append(nodes, cluster.Node{Descriptor: n.Descriptor, Report: n.report, Figures: n.figures, Pulse: n.pulse})
		}
	}
	return nodes
}
