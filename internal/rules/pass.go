package rules

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

// pass is one reconciliation.
type pass struct {
	*Reconciler
	snapshot *cluster.Snapshot
	now      cluster.Millis
	options  Options
	memory   Memory

	table   *selection.Table // nil until somebody asks
	stick   map[string]bool  // target groups by ARN: whether target stickiness is on
	changed int              // rules written
	halted  error            // why nothing is written any more
	unheard error            // why a rule was left alone for which AWS did not say who else changes it
}

// Reconcile makes the rules of s's groups, and those that m remembers, what the
// pauses of s want at now, as far as options, AWS and ctx allow. now is the
// registry's time.
//
// The report tells of every rule; what could not be done is pending. The error
// wraps [ErrUnreachable] if AWS did not answer, [ErrNoTime] if there was none for
// the next write, or is that of ctx, Options.Epoch or Options.Save; the report
// counts all the same, and its memory is to be stored.
// After a dry run it is the one given.
func (r *Reconciler) Reconcile(ctx context.Context, s *cluster.Snapshot, now cluster.Millis, m Memory, o Options) (Report, error) {
	p := &pass{
		Reconciler: r, snapshot: s, now: now, options: o,
		memory: make(Memory), stick: make(map[string]bool),
	}
	for arn, one := range m {
		p.memory[arn] = one.clone()
	}
	arns := p.arns()
	all, err := r.read(ctx, arns)
	if err != nil {
		p.halted = err
	}
	var report Report
	for _, arn := range arns {
		report.Rules = append(report.Rules, p.settle(ctx, arn, all[arn]))
	}
	report.Memory = p.memory
	if o.DryRun {
		report.Memory = m
	}
	if errors.Is(p.halted, errOvertaken) {
		report.Overtaken = true
		return report, nil
	}
	return report, errors.Join(p.halted, p.unheard)
}

// arns lists the rules to look at.
func (p *pass) arns() []string {
	if len(p.options.Only) > 0 {
		return slices.Compact(slices.Sorted(slices.Values(p.options.Only)))
	}
	arns := slices.Collect(maps.Keys(p.memory))
	for _, g := range p.snapshot.Groups {
		arns = append(arns, g.MovedRules()...)
	}
	slices.Sort(arns)
	return slices.Compact(arns)
}

// settle does for one rule what can be done, and remembers it.
func (p *pass) settle(ctx context.Context, arn string, f *found) RuleState {
	st := RuleState{ARN: arn, State: Resting, Was: Resting}
	m, known := p.memory[arn]
	if known {
		st.Was = m.State
	}
	if f == nil {
		return p.unread(st, m)
	}
	rl, err := newRule(arn, f, m)
	rl.wants = wantsOf(p.snapshot, p.now, arn, rl.actual, p.config.TargetGroup)
	if err == nil {
		err = p.converge(ctx, rl)
	}
	st.Groups, st.Change, st.Why = rl.wants.ids(), rl.change, rl.why
	var told *stateError
	switch {
	case errors.As(err, &told):
		st.State, st.Why = told.state, told.why
		st.Stuck = told.state == Contested || told.state == Foreign && !told.passes
	case err != nil:
		p.halted = err
		st.State, st.Why = Pending, p.pending().why
	case len(rl.current) > 0:
		st.State = Moved
	}
	p.tell(ctx, st)
	st.Event = rl.memory.event(st.State)
	p.remember(rl, st, told != nil && told.gone)
	return st
}

// tell logs a change of state.
func (p *pass) tell(ctx context.Context, st RuleState) {
	level := slog.LevelInfo
	switch st.State {
	case st.Was:
		return
	case Foreign, Contested, Denied, Refused:
		level = slog.LevelWarn
	}
	p.log.Log(ctx, level, "listener rule changed its state", "rule", st.ARN, "state", st.State, "was", st.Was, "why", st.Why)
}

// unread is the state of a rule that could not be read: at rest if it was, and
// nothing else is wanted.
func (p *pass) unread(st RuleState, m RuleMemory) RuleState {
	w := wantsOf(p.snapshot, p.now, st.ARN, Forward{}, p.config.TargetGroup)
	st.Groups = w.ids()
	if st.Was == Resting && w.pauses == unpaused {
		return st
	}
	st.State, st.Why = Pending, p.pending().why
	p.remember(&rule{arn: st.ARN, memory: m, wants: w}, st, false)
	return st
}

// pending is the state of what a halted pass leaves.
func (p *pass) pending() *stateError {
	if errors.Is(p.halted, context.DeadlineExceeded) && !errors.Is(p.halted, ErrUnreachable) {
		return &stateError{state: Pending, why: leftToSweep} // the pass was out of time
	}
	return &stateError{state: Pending, why: p.halted.Error()}
}

const leftToSweep = "left to the next sweep"

// remember keeps what the next pass needs of a rule, if anything.
func (p *pass) remember(rl *rule, st RuleState, gone bool) {
	m := rl.memory
	m.State, m.Why = st.State, st.Why
	switch {
	case p.options.Force:
		m.Forced = rl.wants.pauses
	case m.Forced != rl.wants.pauses:
		m.Forced = ""
	}
	if st.State == Resting && !rl.isWanted() {
		m.Forced = ""
	}
	if m.empty() || gone && len(rl.wants.groups) == 0 {
		delete(p.memory, rl.arn)
		return
	}
	p.memory[rl.arn] = m
}

// forced reports whether the operator has said so, now or when the pauses became
// what they are.
func (p *pass) forced(rl *rule) bool {
	return p.options.Force || rl.memory.Forced == rl.wants.pauses
}

// leavesNobody is [leavesNobody] with the table of this pass.
func (p *pass) leavesNobody(group string) bool {
	if p.table == nil {
		p.table = selection.NewTable(p.snapshot, p.now, p.config.Selection)
	}
	return leavesNobody(p.table, p.now, group)
}
