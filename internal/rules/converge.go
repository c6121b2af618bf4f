package rules

import (
	"context"
	"maps"
	"slices"
)

// converge makes one rule what the registry wants. The error is the state that it
// is in, or what ends the pass; without one it is at rest or moved.
func (p *pass) converge(ctx context.Context, rl *rule) error {
	if err := p.own(rl); err != nil {
		return err
	}
	next, rest, err := p.next(ctx, rl)
	if err != nil {
		return err
	}
	if err := p.write(ctx, rl, next); err != nil {
		return err
	}
	if len(next) == 0 && rl.claimed() {
		if err := p.release(ctx, rl); err != nil {
			return err
		}
	}
	if rest != nil { // not so in a *stateError that is nil
		return rest
	}
	return nil
}

// own judges whose the rule is, and what of it is moved now.
func (p *pass) own(rl *rule) error {
	if err := rl.owned(p.config); err != nil {
		return err
	}
	err := rl.claim(p.targetGroups())
	rl.wants = wantsOf(p.snapshot, p.now, rl.arn, rl.resting, p.config.TargetGroup)
	switch {
	case err != nil:
		return p.foreign(rl, err)
	case !rl.isOurs(p.options.Restore):
		return p.foreign(rl, rl.strange())
	case rl.leftBehind() && !p.options.Restore:
		return errLeft()
	}
	if rl.claimed() {
		rl.memory.Resting = &rl.resting
	}
	return nil
}

// strange says what has become of a rule that is not as Detour would have made it.
func (rl *rule) strange() error {
	if rl.memory.Resting == nil && rl.resting.couldBeMoved(rl.actual) {
		return errLeft()
	}
	return &stateError{state: Foreign, why: "somebody else has changed the rule: adopt what it is, or put it back"}
}

func errLeft() error {
	return &stateError{state: Foreign, why: "the rule was left moved by a registry that was lost: restore it from its tags"}
}

// foreign takes a rule as it is that somebody else has changed, where that is
// wanted, or where nothing is paused and nothing of ours is left in it. Otherwise
// it returns why.
func (p *pass) foreign(rl *rule, why error) error {
	if !p.options.Adopt && (rl.isWanted() || rl.traces(append(p.redirects(), slices.Collect(maps.Values(rl.wants.sinks()))...))) {
		return why
	}
	rl.resting, rl.current = rl.actual, nil
	rl.wants = wantsOf(p.snapshot, p.now, rl.arn, rl.resting, p.config.TargetGroup)
	if rl.claimed() {
		rl.memory.Resting = &rl.resting
	}
	return nil
}

// redirects lists the redirect function's target groups.
func (p *pass) redirects() []string {
	list := []string{p.config.TargetGroup}
	for _, g := range p.snapshot.Groups {
		list = append(list, g.DetourTargetGroup)
	}
	return list
}

// targetGroups lists the target groups that the registry knows, for tags that name
// them by id.
func (p *pass) targetGroups() []string {
	known := p.redirects()
	for _, g := range p.snapshot.Groups {
		known = append(known, g.TargetGroup, g.LargeBodyTargetGroup)
	}
	return slices.DeleteFunc(known, func(arn string) bool { return arn == "" })
}

// next decides which target groups are to be without their weight, and where it
// is led to. rest says why that is not yet all that the registry wants, nil if it
// is.
func (p *pass) next(ctx context.Context, rl *rule) (next map[string]string, rest *stateError, err error) {
	next = make(map[string]string)
	if rl.wants.fault != "" {
		rest = &stateError{state: Refused, why: rl.wants.fault}
	}
	for _, w := range rl.resting.Weights {
		if w.Weight == 0 {
			continue
		}
		moved, why, err := p.moves(ctx, rl, w.TargetGroup)
		if err != nil {
			return nil, nil, err
		}
		if moved {
			next[w.TargetGroup] = rl.sink(w.TargetGroup)
		}
		if why != nil {
			rest = why
		}
	}
	return next, rest, nil
}

// moves decides on one target group. why says what keeps it as it is against the
// registry's will.
func (p *pass) moves(ctx context.Context, rl *rule, tg string) (moved bool, why *stateError, err error) {
	want, current := rl.wants.of[tg], rl.current[tg]
	if want.mode != "" {
		delete(rl.memory.Returning, tg)
		return p.movesAway(ctx, rl, want, current)
	}
	if !current {
		return false, nil, nil
	}
	return p.staysAway(ctx, rl, tg)
}
