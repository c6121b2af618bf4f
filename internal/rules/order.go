package rules

import (
	"context"
	"maps"
	"slices"

	"github.com/detourhq/detour/pkg/cluster"
)

// movesAway decides on a paused group. A drain leaves a rule as it is until it
// ends, since only the nodes' gates tell newcomers from sessions; in a hold
// somebody may come back.
func (p *pass) movesAway(ctx context.Context, rl *rule, w want, current bool) (moved bool, why *stateError, err error) {
	forced := p.forced(rl)
	switch {
	case current:
		return true, nil, nil
	case w.mode == cluster.Drain && !forced:
		rl.why = "left as it is while group " + w.group + " drains"
		return false, nil, nil
	case forced:
		return true, nil, nil
	case w.large:
		reason, err := p.takesNobody(ctx, w.sink)
		if reason == "" || err != nil {
			return err == nil, nil, err
		}
		return false, &stateError{state: Refused, why: "large bodies would be led to nobody: " + reason}, nil
	case w.mode == cluster.Hold, !p.leavesNobody(w.group):
		return true, nil, nil
	}
	return false, &stateError{state: Refused, why: "nobody would be left to offer to users of group " + w.group + ": force it if that is meant"}, nil
}

// takesNobody returns why a target group of nodes cannot stand in for another,
// empty if it can: a group that it belongs to is paused, or no target is healthy.
// There the load balancer decides, and nobody is redirected.
func (p *pass) takesNobody(ctx context.Context, targetGroup string) (why string, err error) {
	for _, name := range slices.Sorted(maps.Keys(p.snapshot.Groups)) {
		if p.snapshot.Groups[name].TargetGroup != targetGroup {
			continue
		}
		if _, _, paused := p.snapshot.Cover(nodeOf(name), "", p.now); paused {
			return "group " + name + " is paused too", nil
		}
	}
	if p.halted != nil {
		return "", p.pending()
	}
	return p.ready(ctx, targetGroup, p.now.Add(-patience), p.now)
}

// staysAway decides on a group that was resumed: its weight comes back once its
// targets are healthy.
func (p *pass) staysAway(ctx context.Context, rl *rule, tg string) (moved bool, why *stateError, err error) {
	if p.forced(rl) {
		delete(rl.memory.Returning, tg)
		return false, nil, nil
	}
	since, waits := rl.memory.Returning[tg]
	if !waits || since > p.now {
		since = p.now
	}
	if p.halted != nil {
		return true, p.pending(), nil
	}
	reason, err := p.ready(ctx, tg, since, p.now)
	if err != nil {
		return false, nil, err
	}
	if reason == "" {
		delete(rl.memory.Returning, tg)
		return false, nil, nil
	}
	if rl.memory.Returning == nil {
		rl.memory.Returning = make(map[string]cluster.Millis)
	}
	rl.memory.Returning[tg] = since
	return true, &stateError{state: Pending, why: reason}, nil
}
