package agent

import (
	"context"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// Cover is the harshest pause in force on a node as a whole: its own, which has
// mode redirect, no epoch, and the node's id in By, or one that somebody put on
// the node, its group, all, or the one context that it serves. The zero value means
// that there is none.
type Cover struct {
	Paused bool
	On     cluster.Target
	cluster.Pause
}

// self is the node as pauses see it.
func (a *Agent) self() *cluster.Node { return &cluster.Node{Descriptor: a.node} }

// own returns the cover by the node's own word.
func (a *Agent) own() Cover {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.wish.status != cluster.Paused {
		return Cover{}
	}
	p := cluster.Pause{Mode: cluster.Redirect, Reason: a.wish.reason, By: a.node.ID}
	return Cover{Paused: true, On: cluster.NodeTarget(a.node.ID), Pause: p}
}

// coverNow returns the cover as of the last snapshot, its ends judged by the
// time that has passed since.
func (a *Agent) coverNow() Cover {
	c := a.own()
	if a.snapshot == nil {
		return c
	}
	now, _ := a.snapshot.Now(time.Now())
	if on, p, ok := a.snapshot.Cover(a.self(), a.onlyContext(), now); ok && !c.Mode.Harsher(p.Mode) {
		return Cover{Paused: true, On: on, Pause: p}
	}
	return c
}

// onlyContext returns the one context that the node serves, empty if it serves several.
func (a *Agent) onlyContext() string {
	if contexts := a.self().ContextList(); len(contexts) == 1 {
		return contexts[0]
	}
	return ""
}

// obey tells the node its cover if that is a new one.
func (a *Agent) obey(ctx context.Context) {
	c := a.coverNow()
	if c == a.cover {
		return
	}
	a.cover = c
	if c.Paused {
		a.log.InfoContext(ctx, "node paused", "on", c.On, "mode", c.Mode, "by", c.By, "reason", c.Reason, "epoch", c.Epoch)
	} else {
		a.log.InfoContext(ctx, "node resumed")
	}
	if a.config.OnChange != nil {
		a.config.OnChange(c)
	}
}

// awaited reports whether somebody may wait for the node's figures: a pause
// covers it, or one of its contexts.
func (a *Agent) awaited() bool {
	switch {
	case a.config.Figures == nil:
		return false
	case a.cover.Paused:
		return true
	case a.snapshot == nil:
		return false
	}
	now, _ := a.snapshot.Now(time.Now())
	self := a.self()
	for _, c := range self.ContextList() {
		if _, _, ok := a.snapshot.Cover(self, c, now); ok {
			return true
		}
	}
	return false
}
