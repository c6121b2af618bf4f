package redirect

import (
	"github.com/detourhq/detour/pkg/affinity"
	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

// place leads q to the node that its session lives on, else to one that is picked.
func (r *Redirector) place(q *question) Decision {
	var room [affinity.MaxRoutes]string
	query := q.query()
	routes, byCookie := q.routes(room[:0])
	if len(routes) > 0 {
		q.session = q.table.Session(&query, routes, q.now)
	}
	if q.session.Keeper != nil {
		return r.lead(q, q.session.Keeper)
	}
	if q.sessions.strict && q.session.Known != nil {
		query.Domain = q.session.Known.Group
	}
	q.dead = q.sessions.expireDead && byCookie && query.Domain == "" && !q.session.Held && !q.session.Away
	node, outcome := q.table.Pick(query, q.now, r.random)
	d := r.answer(q, node, outcome)
	d.Hold = q.holds(&query, d.Outcome)
	return d
}

// answer puts what the pick came to into an answer.
func (r *Redirector) answer(q *question, node *cluster.Node, o selection.Outcome) Decision {
	switch o {
	case selection.Picked:
		return r.lead(q, node)
	case selection.NoContext:
		return q.decision(r.problem(q.req, 404, "No node serves this path.", 0), NoContext, "no context")
	case selection.Overloaded:
		return r.unavailable(q, Unavailable, "The nodes that could take this request report overload. Please try again in a moment.")
	}
	if q.sessions.strict && q.session.Known != nil {
		return r.unavailable(q, Unavailable, "The nodes of this session cannot take it now. Please try again in a moment.")
	}
	return r.unavailable(q, Unavailable, "No node can take this request now. Please try again in a moment.")
}
