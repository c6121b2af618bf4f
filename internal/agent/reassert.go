package agent

import (
	"context"

	"github.com/detourhq/detour/pkg/cluster"
)

// reassert writes back the pauses that reach the node, were in force, and are
// missing in now, unless the registry knows that they were resumed: a flush or a
// failover has lost them, and what an operator took out must stay out. written
// is true if the registry differs from now for it.
func (a *Agent) reassert(ctx context.Context, now *cluster.Snapshot) (written bool, err error) {
	if a.snapshot == nil {
		return false, nil
	}
	for target, p := range a.snapshot.Pauses {
		if _, stands := now.Pauses[target]; stands || !p.Covers(now.Time) || !target.Reaches(a.self()) {
			continue
		}
		var one bool
		err = a.ask(ctx, func(ctx context.Context) (err error) {
			one, err = a.registry.Reassert(ctx, target, p, a.node.ID)
			return err
		})
		if err != nil {
			return written, err
		}
		if one {
			a.log.WarnContext(ctx, "registry had lost a pause, written back", "on", target, "mode", p.Mode, "by", p.By, "reason", p.Reason)
		}
		written = written || one
	}
	return written, nil
}
