package sweep

import (
	"context"

	"github.com/detourhq/detour/pkg/cluster"
)

// pass is one sweep under its lease.
type pass struct {
	*Sweeper
	lease  cluster.Lease
	result Result
}

// brokenShown is how many unreadable entries a sweep logs.
const brokenShown = 3

// run takes the steps of the package comment, in that order.
func (p *pass) run(ctx context.Context) error {
	last, err := p.registry.Notes(ctx)
	if err != nil {
		return err
	}
	snap, err := p.registry.Snapshot(ctx, p.wall)
	if err != nil {
		return err
	}
	for _, b := range snap.Broken[:min(len(snap.Broken), brokenShown)] {
		p.log.WarnContext(ctx, "registry holds an entry that cannot be read", "key", b.Key, "field", b.Field, "err", b.Err, "of", len(snap.Broken))
	}
	if err := p.stampFuture(ctx, snap); err != nil {
		return err
	}
	if p.result.Mended, err = p.registry.Mend(ctx, p.lease, snap); err != nil {
		return err
	}
	silent, done, err := p.listen(ctx, snap)
	if err != nil {
		return err
	}
	notes, why := p.config.judge(last, finding{now: snap.Time, done: done, epoch: snap.Epoch, allStale: p.result.AllStale})
	if p.result.Ended, err = p.registry.Tidy(ctx, p.lease, notes, over(snap)); err != nil {
		return err
	}
	p.result.Withheld = why
	if err := p.prune(ctx, p.config.prunable(silent, len(snap.Nodes), snap.Time, notes.Hold)); err != nil {
		return err
	}
	if err := p.noteEpoch(ctx, notes); err != nil {
		return err
	}
	_, err = p.registry.Forget(ctx, p.lease)
	return err
}

// stampFuture gives nodes whose last pulse lies in the future one of now, so that
// it ages from there.
func (p *pass) stampFuture(ctx context.Context, snap *cluster.Snapshot) error {
	var ahead []cluster.Node
	for _, n := range snap.Nodes {
		if n.Pulse > snap.Time {
			ahead = append(ahead, n)
		}
	}
	if err := p.registry.Stamp(ctx, p.lease, ahead); err != nil {
		return err
	}
	p.result.Stamped = ids(ahead)
	return nil
}

// listen asks the stale nodes and stamps a pulse for those that answer. It
// returns those that are known to be silent, without a probe or with one that
// failed, and when it was done. A node that could not be asked in time is stale,
// but not known to be silent.
func (p *pass) listen(ctx context.Context, snap *cluster.Snapshot) (silent []cluster.Node, done cluster.Millis, err error) {
	var ask []cluster.Node
	for _, n := range snap.Nodes {
		switch {
		case !n.Stale(snap.Time, p.config.PulseTimeout):
		case p.config.Probe && n.Probe != "":
			ask = append(ask, n)
		default:
			silent = append(silent, n)
		}
	}
	p.count(snap, len(silent)+len(ask))
	if len(ask) == 0 {
		return silent, snap.Time, nil
	}
	well, mute := p.probe(ctx, ask)
	if err := p.registry.Stamp(ctx, p.lease, well); err != nil {
		return nil, 0, err
	}
	p.result.Returned = ids(well)
	p.count(snap, len(silent)+len(ask)-len(well))
	done, err = p.registry.Time(ctx)
	return append(silent, mute...), done, err
}

func (p *pass) count(snap *cluster.Snapshot, stale int) {
	p.result.Nodes, p.result.Stale = len(snap.Nodes), stale
	p.result.AllStale = stale > 0 && stale == len(snap.Nodes)
}

// over lists the targets whose pause is past its end.
func over(snap *cluster.Snapshot) (targets []cluster.Target) {
	for t, pause := range snap.Pauses {
		if !pause.Covers(snap.Time) {
			targets = append(targets, t)
		}
	}
	return targets
}

// prune removes nodes unless that is withheld.
func (p *pass) prune(ctx context.Context, nodes []cluster.Node) error {
	if len(nodes) == 0 {
		return nil
	}
	if p.result.Withheld != "" {
		p.log.WarnContext(ctx, "silent nodes are kept", "count", len(nodes), "why", p.result.Withheld)
		return nil
	}
	gone, err := p.registry.Prune(ctx, p.lease, nodes)
	p.result.Pruned, p.result.PrunedIDs = len(gone), gone
	if len(gone) > 0 {
		p.log.WarnContext(ctx, "silent nodes were pruned", "nodes", gone)
	}
	return err
}

// noteEpoch notes the epoch once more if this pass has moved it.
func (p *pass) noteEpoch(ctx context.Context, notes cluster.SweepNotes) error {
	if p.result.Pruned == 0 && len(p.result.Ended) == 0 && len(p.result.Mended) == 0 {
		return nil
	}
	epoch, err := p.registry.Epoch(ctx, cluster.Counts{})
	if err != nil {
		return err
	}
	notes.Epoch = epoch
	_, err = p.registry.Tidy(ctx, p.lease, notes, nil)
	return err
}

func ids(nodes []cluster.Node) []string {
	var list []string
	for _, n := range nodes {
		list = append(list, n.ID)
	}
	return list
}
