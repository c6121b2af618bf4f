package gate

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/detourhq/detour/pkg/affinity"
	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/redirect"
)

// state is what a gate acts on: one snapshot at one instant. It is never changed,
// but for done, which is closed when another one took its place.
type state struct {
	snapshot   *cluster.Snapshot // nil before the first was read
	redirector *redirect.Redirector
	group      string // of the node, that the redirector knows

	open     bool   // all requests are let in
	whole    rule   // for the node as a whole
	contexts []rule // for its contexts, the longest first

	cookie    string             // of the node's sessions; empty where none are looked for
	parameter affinity.Parameter // that stands in for it

	epoch []string      // the value of X-Detour-Epoch; nil without a snapshot
	table func() []byte // what /_detour/cluster answers, made when first asked for
	done  chan struct{}
}

// rule says what becomes of requests for one context.
type rule struct {
	context  string
	mode     cluster.Mode // of the pause; empty where there is none
	starting bool         // the node is not ready yet; a pause counts more
}

func (r rule) open() bool { return r.mode == "" && !r.starting }

// newState returns what node obeys by s at now. A node that s does not hold, or a
// nil s, lets all requests in: its process lives, and nobody said that it is
// paused.
func newState(s *cluster.Snapshot, node string, now cluster.Millis) *state {
	st := &state{snapshot: s, open: true, done: make(chan struct{})}
	if s == nil {
		return st
	}
	st.epoch = []string{strconv.FormatInt(s.Epoch, 10)}
	n, ok := s.Node(node)
	if !ok {
		return st
	}
	st.group, st.whole = n.Group, ruleFor(s, n, "", now)
	st.open = st.whole.open()
	for _, context := range n.ContextList() {
		r := ruleFor(s, n, context, now)
		st.contexts = append(st.contexts, r)
		st.open = st.open && r.open()
	}
	slices.SortStableFunc(st.contexts, func(a, b rule) int { return len(b.context) - len(a.context) })
	return st
}

// ruleFor returns the harshest of what covers n in context: the node's own pause
// has mode redirect.
func ruleFor(s *cluster.Snapshot, n *cluster.Node, context string, now cluster.Millis) rule {
	r := rule{context: context}
	if _, p, ok := s.Cover(n, context, now); ok {
		r.mode = p.Mode
	}
	switch n.Report.In(context) {
	case cluster.Paused:
		if !r.mode.Harsher(cluster.Redirect) {
			r.mode = cluster.Redirect
		}
	case cluster.Starting:
		r.starting = true
	}
	return r
}

// rule returns what becomes of requests for path: by the longest context that is a
// prefix of it by whole segments, else by the node as a whole.
func (st *state) rule(path string) rule {
	for _, r := range st.contexts {
		if r.context == "/" || path == r.context || strings.HasPrefix(path, r.context+"/") {
			return r
		}
	}
	return st.whole
}

// same reports whether o has a gate do just what st does.
func (st *state) same(o *state) bool {
	return st.snapshot == o.snapshot && st.whole == o.whole && slices.Equal(st.contexts, o.contexts)
}

// now returns the registry's time, the wall clock's where that is all there is.
func (st *state) now(wall time.Time) cluster.Millis { return registryTime(st.snapshot, wall) }

func registryTime(s *cluster.Snapshot, wall time.Time) cluster.Millis {
	if s == nil {
		return cluster.Millis(wall.UnixMilli())
	}
	now, _ := s.Now(wall)
	return now
}

// onRegistry moves a stamp of the wall clock to the registry's.
func (st *state) onRegistry(stamp cluster.Millis) cluster.Millis {
	if st.snapshot == nil || stamp == 0 {
		return stamp
	}
	return stamp - cluster.Millis(st.snapshot.ReadAt.UnixMilli()) + st.snapshot.Time
}

// complete gives st what is worked out once: the redirector, unless that of the
// state before will do, how sessions are found, and the table.
func (st *state) complete(before *state, c *Config) {
	st.redirector = before.redirector
	if st.redirector == nil || st.group != before.group {
		own := c.Redirect
		own.Origins = []redirect.OriginRule{{TargetGroup: ownTargetGroup, Group: st.group, Node: c.Node}}
		st.redirector = redirect.New(own, c.Random)
	}
	if st.cookie = c.Redirect.SessionCookie; st.snapshot != nil {
		st.cookie = cmp.Or(st.snapshot.Groups[st.group].Affinity.Cookie, st.cookie)
	}
	st.parameter = affinity.ParameterOf(st.cookie)
	if st.snapshot != nil && st.snapshot == before.snapshot {
		st.table = before.table
		return
	}
	now := st.now(c.Now())
	st.table = sync.OnceValue(func() []byte { return clusterTable(st.snapshot, c.Redirect.Selection, now) })
}

// The gate poses as a target group of its own: no other word on what a request is
// meant for goes before that of a target group.
const (
	ownTargetGroup    = "detour-gate"
	ownTargetGroupARN = ":targetgroup/" + ownTargetGroup + "/"
)
