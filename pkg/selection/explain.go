package selection

import (
	"fmt"
	"slices"

	"github.com/detourhq/detour/pkg/cluster"
)

// Verdict says of one node whether it is offered to a query.
type Verdict struct {
	Node    *cluster.Node
	Offered bool
	// Why is a few words for people: "offered", "offered last: no weight", "console",
	// "paused by node: REASON", "paused by TARGET: REASON", "reports STATUS: REASON",
	// "stale 41s", "other context", "not https", "origin", "visited" or "standby"; of several
	// the first in this order. Reasons are left off where none was given.
	Why string
}

const (
	offered         = "offered"
	offeredNoWeight = "offered last: no weight"
)

// Explain says of every node of q's service, and of the fallbacks of the origin's
// group, whether it is offered to q at now and why, in the order of the snapshot.
// [Table.Pick] returns one that is offered. It looks at every node.
func (t *Table) Explain(q Query, now cluster.Millis) []Verdict {
	a := t.ask(&q, now)
	var verdicts []Verdict
	appLeft := false
	for i := range t.candidates {
		c := &t.candidates[i]
		g := t.groups[c.node.Group]
		if !t.within(&q, g) {
			continue
		}
		v := Verdict{Node: c.node, Why: t.refusal(&a, c, g.service.contexts.match(q.Path))}
		v.Offered = v.Why == ""
		appLeft = appLeft || v.Offered && c.node.Role != cluster.Standby
		verdicts = append(verdicts, v)
	}
	for i := range verdicts {
		verdicts[i].settle(appLeft)
	}
	return verdicts
}

// Offered reports of each node, beside the snapshot's, whether it is offered at now in
// one of its contexts to a request without an origin, as [Table.Explain] does for one
// path. It looks at every node once, however many contexts there are.
func (t *Table) Offered(now cluster.Millis) []bool {
	type place struct {
		service *service
		context string
	}
	a := t.ask(&Query{}, now)
	offered, taken := make([]bool, len(t.candidates)), make(map[place]bool)
	for _, spare := range [...]bool{false, true} {
		for i := range t.candidates {
			c := &t.candidates[i]
			if spare != (c.node.Role == cluster.Standby) {
				continue
			}
			for _, context := range c.node.ContextList() {
				p := place{t.groups[c.node.Group].service, context}
				if taken[p] && spare || t.refusal(&a, c, context) != "" {
					continue
				}
				offered[i], taken[p] = true, !spare
			}
		}
	}
	return offered
}

// settle fills in what depends on the other nodes.
func (v *Verdict) settle(appLeft bool) {
	_, hasWeight := share(v.Node.Weight)
	switch {
	case !v.Offered:
	case appLeft && v.Node.Role == cluster.Standby:
		v.Offered, v.Why = false, string(cluster.Standby)
	case hasWeight:
		v.Why = offered
	default:
		v.Why = offeredNoWeight
	}
}

// refusal says why c is not offered to a in context, empty if it is.
func (t *Table) refusal(a *ask, c *candidate, context string) string {
	n := c.node
	status := n.Report.In(context)
	on, pause, covered := t.snapshot.Cover(n, context, a.now)
	_, fits := tierOf(n)
	switch {
	case !fits:
		return string(n.Role)
	case covered:
		return because("paused by "+on.String(), pause.Reason)
	case status == cluster.Paused:
		return because("paused by node", n.Report.Reason)
	case status == "":
		return "reports nothing"
	case status != cluster.Active:
		return because("reports "+string(status), n.Report.Reason)
	case a.heard > c.fresh && !a.failOpen:
		return fmt.Sprintf("stale %ds", int64(a.heard.Sub(n.Pulse).Seconds()))
	case context == "" || !slices.Contains(n.ContextList(), context):
		return "other context"
	case a.isOrigin(c):
		return "origin"
	case a.secure && !c.secure:
		return "not https"
	case slices.Contains(a.visited, c.mark):
		return "visited"
	}
	return ""
}

func because(what, reason string) string {
	if reason == "" {
		return what
	}
	return what + ": " + reason
}
