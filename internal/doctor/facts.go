package doctor

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/detourhq/detour/internal/rules"
	"github.com/detourhq/detour/pkg/cluster"
)

// part names what was read apart from the rest, and may be missing.
type part int

const (
	snapshot part = iota // never missing
	server
	notes
	memory   // what is remembered of rules
	balancer // rules
	targets  // target groups
	scaling  // Auto Scaling groups
)

// facts are all that was read. Checks look at nothing else.
type facts struct {
	config   Config
	snapshot *cluster.Snapshot
	trip     time.Duration // of one round trip to the registry
	server   cluster.Server
	notes    cluster.SweepNotes
	memory   map[string]rules.RuleMemory // by ARN
	outside
	missing map[part]string // why a part is
}

// now is the registry's time at which everything is judged.
func (f *facts) now() cluster.Millis { return f.snapshot.Time }

// gather reads everything. Its error is that of the registry's snapshot: without
// that there is nothing to say.
func (d *Doctor) gather(ctx context.Context) (*facts, error) {
	f := &facts{config: d.config, missing: make(map[part]string)}
	var err error
	if f.snapshot, err = d.registry.Snapshot(ctx, d.wall); err != nil {
		return nil, err
	}
	began := d.wall()
	if _, err = d.registry.Time(ctx); err != nil {
		return nil, err
	}
	f.trip = d.wall().Sub(began)
	f.lacks(server, func() (err error) { f.server, err = d.registry.Server(ctx); return err })
	f.lacks(notes, func() (err error) { f.notes, err = d.registry.Notes(ctx); return err })
	f.lacks(memory, func() (err error) { f.memory, err = remembered(ctx, d.registry); return err })
	if d.aws == nil {
		for _, p := range []part{balancer, targets, scaling} {
			f.missing[p] = "no AWS Region is set: give AWS_REGION and credentials, or --function"
		}
		return f, nil
	}
	d.aws.gather(ctx, f)
	return f, nil
}

// lacks reads a part, and notes why it could not be read.
func (f *facts) lacks(p part, read func() error) {
	if err := read(); err != nil {
		f.missing[p] = err.Error()
	}
}

func remembered(ctx context.Context, r registry) (map[string]rules.RuleMemory, error) {
	bodies, err := r.RuleWork(ctx)
	if err != nil {
		return nil, err
	}
	all := make(map[string]rules.RuleMemory)
	for name, body := range bodies {
		var m rules.RuleMemory
		if json.Unmarshal([]byte(body), &m) == nil {
			all[strings.TrimPrefix(name, cluster.RulePrefix)] = m
		}
	}
	return all, nil
}

// groups returns the records of groups, by id.
func (f *facts) groups() []cluster.Group {
	var all []cluster.Group
	for _, id := range slices.Sorted(maps.Keys(f.snapshot.Groups)) {
		all = append(all, f.snapshot.Groups[id])
	}
	return all
}

// members returns the nodes that take traffic, by group.
func (f *facts) members() map[string][]cluster.Node {
	all := make(map[string][]cluster.Node)
	for _, n := range f.snapshot.Nodes {
		if n.Role != cluster.Console {
			all[n.Group] = append(all[n.Group], n)
		}
	}
	return all
}

// sinkOf returns the target group that a rule of g is moved to, the redirect
// function's for "" and for all but a rule for large bodies; empty if none is
// known.
func (f *facts) sinkOf(g cluster.Group, rule string) string {
	switch {
	case rule != "" && rule == g.LargeBodyRule:
		return g.LargeBodyTargetGroup
	case g.DetourTargetGroup != "":
		return g.DetourTargetGroup
	}
	return f.config.TargetGroup
}

// aboutGroup and aboutNode are what findings are about.
func aboutGroup(id string) string { return cluster.GroupTarget(id).String() }
func aboutNode(id string) string  { return cluster.NodeTarget(id).String() }
