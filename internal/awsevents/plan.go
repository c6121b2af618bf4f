package awsevents

import (
	"maps"
	"slices"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// item is one piece of work, and what the snapshot says of it.
type item struct {
	work
	name string
	body string // as it was read

	nodes      []*cluster.Node // registered ones that it is about
	superseded bool            // by a later launch of the instance
	ends       bool            // nothing is left to do but to resume
}

// plan derives from all work and a snapshot which pauses there should be, and
// what AWS may be answered. It does no I/O.
type plan struct {
	config Config
	snap   *cluster.Snapshot
	now    cluster.Millis
	items  []*item // by name
	broken []string

	wanted map[cluster.Target]*item // who pauses the target, for each that should be
	ours   map[cluster.Target]bool  // targets of all work that is not over
}

func newPlan(c Config, snap *cluster.Snapshot, now cluster.Millis, bodies map[string]string) *plan {
	p := &plan{config: c, snap: snap, now: now, wanted: make(map[cluster.Target]*item), ours: make(map[cluster.Target]bool)}
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		w, err := decodeWork(bodies[name])
		if err != nil {
			p.broken = append(p.broken, name)
			continue
		}
		p.items = append(p.items, &item{work: w, name: name, body: bodies[name]})
	}
	nodes := indexNodes(snap.Nodes)
	for _, it := range p.items {
		p.bind(it, nodes)
	}
	up := p.launches()
	for _, it := range p.items {
		it.superseded = it.before(up)
		p.noticeResume(it)
		it.ends = p.over(it)
	}
	p.decide()
	return p
}

// index finds nodes by what events know of them.
type index struct{ byTarget, byTask map[string][]*cluster.Node }

func indexNodes(nodes []cluster.Node) index {
	x := index{make(map[string][]*cluster.Node), make(map[string][]*cluster.Node)}
	for i := range nodes {
		n := &nodes[i]
		if n.Target != "" {
			x.byTarget[n.Target] = append(x.byTarget[n.Target], n)
		}
		if n.Task != "" {
			x.byTask[n.Task] = append(x.byTask[n.Task], n)
		}
	}
	return x
}

// of returns the nodes that e is about, each once. A node that names its task is
// known by that alone: addresses are given to the next task.
func (x index) of(e *Event) (found []*cluster.Node) {
	if e.Task == "" {
		return x.byTarget[e.Instance]
	}
	found = slices.Clone(x.byTask[e.Task])
	for _, a := range e.Addresses {
		for _, n := range x.byTarget[a] {
			if n.Task == "" {
				found = append(found, n)
			}
		}
	}
	return found
}

// bind finds the nodes or the group that it is about.
func (p *plan) bind(it *item, nodes index) {
	var found []string
	if it.Event.ofGroup() {
		if g, ok := p.groupOf(it.Event.Source); ok {
			found = append(found, cluster.GroupTarget(g).String())
		}
	} else {
		it.nodes = nodes.of(&it.Event)
		for _, n := range it.nodes {
			found = append(found, cluster.NodeTarget(n.ID).String())
		}
	}
	if it.Over != 0 {
		return
	}
	it.Targets = slices.Concat(it.Targets, found)
	slices.Sort(it.Targets)
	it.Targets = slices.Compact(it.Targets)
	if it.Known == 0 && len(it.Targets) > 0 {
		it.Known = p.now
	}
	for _, t := range it.targets() {
		p.ours[t] = true
	}
}

// groupOf returns the group, the first by id, that names source.
func (p *plan) groupOf(source string) (id string, ok bool) {
	if source == "" {
		return "", false
	}
	for _, id := range slices.Sorted(maps.Keys(p.snap.Groups)) {
		if slices.Contains(p.snap.Groups[id].Sources, source) {
			return id, true
		}
	}
	return "", false
}

func (w *work) targets() (list []cluster.Target) {
	for _, text := range w.Targets {
		if t, err := cluster.ParseTarget(text); err == nil {
			list = append(list, t)
		}
	}
	return list
}

// strange tells whether t is a node that it is not about any more: another
// machine has the id now.
func (p *plan) strange(it *item, t cluster.Target) bool {
	if t.Kind != cluster.NodeKind {
		return false
	}
	n, registered := p.snap.Node(t.ID)
	return registered && !slices.Contains(it.nodes, n)
}

// launches returns when each instance that was launched, and is up, was.
func (p *plan) launches() map[string]time.Time {
	last := make(map[string]time.Time)
	for _, it := range p.items {
		e := &it.Event
		if e.Kind == Launch && (it.Answered != "" || p.up(it)) && e.Time.After(last[e.Instance]) {
			last[e.Instance] = e.Time
		}
	}
	return last
}

// before tells whether w is about a turn of the instance before the last launch.
func (w *work) before(launches map[string]time.Time) bool {
	switch w.Event.Kind {
	case Terminate, Spot, Rebalance, State:
		return w.Event.Time.Before(launches[w.Event.Instance])
	}
	return false
}

// noticeResume sees that a pause which stood is gone, though not by us.
func (p *plan) noticeResume(it *item) {
	if it.Paused == 0 || p.snap.Epoch < it.Paused || it.Over != 0 {
		return
	}
	for _, t := range it.targets() {
		if _, stands := p.snap.Pauses[t]; stands || p.strange(it, t) {
			return
		}
	}
	it.Resumed = true
}
