package command

import (
	"cmp"
	"context"
	"slices"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

// Status is the whole cluster for people and programs.
type Status struct {
	Cluster  string         `json:"cluster"`
	Epoch    int64          `json:"epoch"`
	Time     cluster.Millis `json:"time_ms"`
	FailOpen bool           `json:"fail_open"` // every unpaused node looks stale, so staleness is ignored
	Groups   []GroupStatus  `json:"groups"`    // by id
	Pauses   []PauseStatus  `json:"pauses"`    // in force, by target
	Broken   []BrokenStatus `json:"broken"`    // entries of the registry that cannot be read
}

// GroupStatus is one group and its nodes, by id.
type GroupStatus struct {
	ID      string       `json:"id"`
	Service string       `json:"service"`
	Paused  bool         `json:"paused"` // a pause covers the group as a whole
	Nodes   []NodeStatus `json:"nodes"`
}

// NodeStatus is one node.
type NodeStatus struct {
	ID         string             `json:"id"`
	Generation cluster.Generation `json:"generation"`
	Endpoint   string             `json:"endpoint"`
	Role       cluster.Role       `json:"role"`
	Weight     float64            `json:"weight"`
	Version    string             `json:"version,omitempty"`
	Status     cluster.Status     `json:"status"` // what it reports; empty if it has no report of this life
	Offered    bool               `json:"offered"`
	Why        string             `json:"why"`
	Stale      bool               `json:"stale"`
	SilentMS   int64              `json:"silent_ms"` // since its last pulse
	Figures    *cluster.Figures   `json:"figures,omitempty"`
}

// PauseStatus is one pause.
type PauseStatus struct {
	Target string `json:"target"`
	cluster.Pause
}

// BrokenStatus names one entry that cannot be read.
type BrokenStatus struct {
	Key   string `json:"key"`
	Field string `json:"field"`
	Error string `json:"error"`
}

func (r *Runner) status(ctx context.Context, _ Command) (any, error) {
	s, err := r.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	table := selection.NewTable(s, s.Time, r.Redirect.Selection)
	return &Status{
		Cluster: r.Cluster, Epoch: s.Epoch, Time: s.Time, FailOpen: table.FailOpen(s.Time),
		Groups: r.groups(s, table), Pauses: pauses(s), Broken: broken(s),
	}, nil
}

func (r *Runner) groups(s *cluster.Snapshot, table *selection.Table) []GroupStatus {
	byID := make(map[string]*GroupStatus)
	group := func(id string) *GroupStatus {
		if byID[id] == nil {
			p, ok := s.Pauses[cluster.GroupTarget(id)]
			byID[id] = &GroupStatus{ID: id, Service: s.Service(id), Paused: ok && p.Covers(s.Time), Nodes: []NodeStatus{}}
		}
		return byID[id]
	}
	for id := range s.Groups {
		group(id)
	}
	for t := range s.Pauses {
		if t.Kind == cluster.GroupKind {
			group(t.ID)
		}
	}
	verdicts := verdictsOf(s, table)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		g := group(n.Group)
		g.Nodes = append(g.Nodes, r.nodeStatus(s, n, verdicts[n.ID]))
	}
	list := make([]GroupStatus, 0, len(byID))
	for _, g := range byID {
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b GroupStatus) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

func (r *Runner) nodeStatus(s *cluster.Snapshot, n *cluster.Node, v selection.Verdict) NodeStatus {
	return NodeStatus{
		ID: n.ID, Generation: n.Generation, Endpoint: n.Endpoint, Role: cmp.Or(n.Role, cluster.App), Weight: n.Weight,
		Version: n.Version, Status: n.Report.Status, Offered: v.Offered, Why: v.Why,
		Stale:    n.Stale(s.Time, r.Redirect.Selection.PulseTimeout),
		SilentMS: max(s.Time.Sub(n.Pulse).Milliseconds(), 0), Figures: n.Figures,
	}
}

// verdictsOf says of each node whether a request to its first context would be
// offered it.
func verdictsOf(s *cluster.Snapshot, table *selection.Table) map[string]selection.Verdict {
	type question struct{ service, context string }
	asked := make(map[question]bool)
	verdicts := make(map[string]selection.Verdict, len(s.Nodes))
	for i := range s.Nodes {
		q := question{s.Service(s.Nodes[i].Group), s.Nodes[i].ContextList()[0]}
		if asked[q] {
			continue
		}
		asked[q] = true
		for _, v := range table.Explain(selection.Query{Service: q.service, Path: q.context}, s.Time) {
			if v.Node.ContextList()[0] == q.context {
				verdicts[v.Node.ID] = v
			}
		}
	}
	return verdicts
}

func pauses(s *cluster.Snapshot) []PauseStatus {
	list := []PauseStatus{}
	for t, p := range s.Pauses {
		if p.Covers(s.Time) {
			p.Mode = p.ModeAt(s.Time)
			list = append(list, PauseStatus{t.String(), p})
		}
	}
	slices.SortFunc(list, func(a, b PauseStatus) int { return cmp.Compare(a.Target, b.Target) })
	return list
}

func broken(s *cluster.Snapshot) []BrokenStatus {
	list := []BrokenStatus{}
	for _, b := range s.Broken {
		list = append(list, BrokenStatus{b.Key, b.Field, b.Err.Error()})
	}
	slices.SortFunc(list, func(a, b BrokenStatus) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Field, b.Field)) })
	return list
}
