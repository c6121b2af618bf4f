package rules

import (
	"context"

	"github.com/detourhq/detour/pkg/cluster"
)

// movesAway decides on a paused group. A drain leaves a rule as it is until it
// ends, since only the nodes' gates tell newcomers from sessions; in a hold
// somebody may come back.
func (p *pass) movesAway(rl *rule, w want, current bool) (moved bool, why *stateError) {
	forced := p.forced(rl)
	switch {
	case current:
		return true, nil
	case w.mode == cluster.Drain && !forced:
		rl.why = "left as it is while group " + w.group + " drains"
		return false, nil
	case w.mode == cluster.Hold, forced, !p.leavesNobody(w.group):
		return true, nil
	}
	return false, &stateError{state: Refused, why: "nobody would be left to offer to users of group " + w.group + ": force it if that is meant"}
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
