package command

import (
	"context"
	"maps"
	"slices"

	"github.com/detourhq/detour/internal/rules"
	"github.com/detourhq/detour/pkg/cluster"
)

// Look is what the registry shows at one instant to whoever waits until a pause has
// taken hold. It says nothing of what was before: whoever asks remembers.
type Look struct {
	Time     cluster.Millis      `json:"time_ms"`
	Pause    *cluster.Pause      `json:"pause"`             // the one that is on the target; nil if there is none
	Resumed  *cluster.Resumption `json:"resumed,omitempty"` // since the command's epoch, where no pause is
	Nodes    []NodeLook          `json:"nodes"`             // that the target covers, by id
	Rules    []RuleAnswer        `json:"rules,omitempty"`
	SettleMS int64               `json:"settle_ms"` // what load balancers take to obey a rule that was read back
}

// NodeLook is one node that a pause covers.
type NodeLook struct {
	ID          string             `json:"id"`
	Generation  cluster.Generation `json:"generation"`
	Started     cluster.Millis     `json:"started_ms,omitempty"`
	Mode        cluster.Mode       `json:"mode"`              // of the harshest pause on it now, its own included; empty if none is in force
	Pulse       cluster.Millis     `json:"pulse_ms"`          // the last one; what Figures says was so then
	ToleranceMS int64              `json:"tolerance_ms"`      // it is stale when silent for longer
	Partial     bool               `json:"partial,omitempty"` // the target is one of several contexts that it serves
	Figures     *cluster.Figures   `json:"figures,omitempty"` // nil where it publishes none
}

// wait answers with one [Look] at the target, at once.
func (r *Runner) wait(ctx context.Context, c Command) (any, error) {
	target, err := cluster.ParseTarget(c.Target)
	if err != nil {
		return nil, err
	}
	s, err := r.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	look := &Look{Time: s.Time, Nodes: []NodeLook{}, SettleMS: r.RuleSettle.Milliseconds()}
	if p, ok := s.Pauses[target]; ok {
		look.Pause = &p
	} else if last, ok, err := r.Registry.LastResume(ctx, target, c.Epoch); ok || err != nil {
		if err != nil {
			return nil, err
		}
		look.Resumed = &last
	}
	for i := range s.Nodes {
		if target.Reaches(&s.Nodes[i]) {
			look.Nodes = append(look.Nodes, r.nodeLook(s, &s.Nodes[i], target))
		}
	}
	look.Rules, err = r.ruleLooks(ctx, s, target)
	return look, err
}

func (r *Runner) nodeLook(s *cluster.Snapshot, n *cluster.Node, target cluster.Target) NodeLook {
	l := NodeLook{
		ID: n.ID, Generation: n.Generation, Started: n.Started, Pulse: min(n.Pulse, s.Time), Figures: n.Figures,
		ToleranceMS: n.Tolerance(r.Redirect.Selection.PulseTimeout).Milliseconds(),
		Partial:     target.Kind == cluster.ContextKind && !slices.Equal(n.ContextList(), []string{target.Path}),
	}
	if _, p, ok := s.Cover(n, target.Path, s.Time); ok {
		l.Mode = p.Mode
	}
	if n.IsPaused() && !l.Mode.Harsher(cluster.Redirect) {
		l.Mode = cluster.Redirect
	}
	return l
}

// ruleLooks tells how the last pass left the rules that follow a pause on target:
// sweeps ask AWS, not everybody who waits. Only a rule that was at rest then is read,
// for it may have no weight to move.
func (r *Runner) ruleLooks(ctx context.Context, s *cluster.Snapshot, target cluster.Target) ([]RuleAnswer, error) {
	var answers []RuleAnswer
	var memory rules.Memory
	var unknown []string
	for _, id := range slices.Sorted(maps.Keys(s.Groups)) {
		g := s.Groups[id]
		moved := g.MovedRules()
		if target.Kind != cluster.AllKind && target != cluster.GroupTarget(id) || len(moved) == 0 {
			continue
		}
		if memory == nil {
			store, err := r.ruleStore(ctx, nil)
			if err != nil {
				return nil, err
			}
			memory = store.memory
		}
		_, p, _ := s.Cover(&cluster.Node{Descriptor: cluster.Descriptor{Group: id}}, "", s.Time)
		for _, arn := range moved {
			m := memory[arn]
			a := ruleLook(g, p.Mode, arn, m)
			if a.State == rules.Pending && (m.State == "" || m.State == rules.Resting) {
				unknown = append(unknown, arn)
			}
			answers = append(answers, a)
		}
	}
	return r.readRules(ctx, s, answers, unknown), nil
}

// ruleLook reads what is remembered of a rule that g lists, while mode is in force
// on g. A rule that others share is moved only if g's own weight is: they may have
// been paused before. A drain leaves it as it is, unless that was forced.
func ruleLook(g cluster.Group, mode cluster.Mode, arn string, m rules.RuleMemory) RuleAnswer {
	switch {
	case mode == cluster.Drain && m.Forced == "":
		return RuleAnswer{ARN: arn, State: rules.Resting, Why: "left as it is while group " + g.ID + " drains"}
	case m.State == "", m.State == rules.Resting, m.State == rules.Moved && weighs(m.Written, g.TargetGroup):
		return RuleAnswer{ARN: arn, State: rules.Pending, Why: leftToSweep}
	}
	return RuleAnswer{ARN: arn, State: m.State, Why: m.Why}
}

const leftToSweep = "the next sweep moves it"

// readRules fills in how the rules called unknown stand, where AWS can be called.
func (r *Runner) readRules(ctx context.Context, s *cluster.Snapshot, answers []RuleAnswer, unknown []string) []RuleAnswer {
	if len(unknown) == 0 || r.Rules == nil {
		return answers
	}
	limited, cancel := context.WithTimeout(ctx, inlineTime)
	defer cancel()
	report, _ := r.Reconcile(limited, s, nil, rules.Options{DryRun: true, Only: unknown}) // the rest is the sweep's to tell
	for _, state := range report.Rules {
		for i := range answers {
			if a := &answers[i]; a.ARN == state.ARN && (state.State == rules.Resting || state.State == rules.Moved) {
				a.State, a.Why = state.State, state.Why
			}
		}
	}
	return answers
}

// weighs reports whether f still leads something to targetGroup.
func weighs(f *rules.Forward, targetGroup string) bool {
	return f != nil && slices.ContainsFunc(f.Weights, func(w rules.Weight) bool {
		return w.TargetGroup == targetGroup && w.Weight > 0
	})
}
