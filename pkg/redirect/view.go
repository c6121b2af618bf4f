package redirect

import (
	"strconv"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

// view is what is worked out once per snapshot.
type view struct {
	snapshot *cluster.Snapshot
	table    *selection.Table
	origins  origins
	epoch    string

	unnamed sessionRule            // of groups that say nothing of sessions
	named   map[string]sessionRule // of those that do
	onHold  bool                   // a pause in force is in mode hold
}

// view returns the view of s at now, the one before if that still holds.
func (r *Redirector) view(s *cluster.Snapshot, now cluster.Millis) *view {
	v := r.last.Load()
	if v == nil || v.snapshot != s || !v.table.Valid(now) {
		v = newView(s, now, &r.config)
		r.last.Store(v)
	}
	return v
}

func newView(s *cluster.Snapshot, now cluster.Millis, c *Config) *view {
	table := selection.NewTable(s, now, c.Selection)
	return &view{
		snapshot: s,
		table:    table,
		origins:  newOrigins(c.Origins, table.Services(), s, now),
		epoch:    strconv.FormatInt(s.Epoch, 10),
		unnamed:  newSessionRule(cluster.Affinity{}, c.SessionCookie),
		named:    sessionRules(s.Groups, c.SessionCookie),
		onHold:   anyHold(s.Pauses, now),
	}
}
