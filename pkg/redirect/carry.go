package redirect

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

const (
	hopTTL   = time.Minute
	countKey = "X-Aspectran-Redirect-Count"
	nodesKey = "X-Aspectran-Visited-Nodes"
	epochKey = "X-Detour-Epoch"
)

// fresh reports whether the state belongs to this request: it was made within a
// minute of now.
func (h *hop) fresh(now cluster.Millis) bool {
	age := now.Sub(h.at)
	return -hopTTL <= age && age <= hopTTL
}

// hear reads what req says of itself, in one pass over its fields. The hop state
// may come by the parameter, a cookie and header fields: all count, the largest
// number of redirects wins, and all nodes that were visited stay so.
func (q *question) hear() {
	if strings.Contains(q.req.Query, Parameter+"=") {
		for pair := range strings.SplitSeq(q.req.Query, "&") {
			q.hop.merge(pair, q.now)
		}
	}
	for i := range q.req.Header {
		q.hearField(&q.req.Header[i])
	}
}

func (q *question) hearField(f *Field) {
	switch len(f.Name) { // tells nearly all fields apart
	case len("host"):
		if q.host == "" && equalFold(f.Name, "host") {
			q.host = f.Value
		}
	case len("cookie"):
		if strings.Contains(f.Value, Parameter+"=") && equalFold(f.Name, "cookie") {
			q.hop.mergeCookies(f.Value, q.now)
		}
	case len("x-forwarded-for"):
		if equalFold(f.Name, "x-forwarded-for") {
			q.client = lastAddress(f.Value)
		}
	case len("x-forwarded-proto"):
		if equalFold(f.Name, "x-forwarded-proto") {
			q.hearProto(f.Value)
		}
	case len(countKey):
		if equalFold(f.Name, countKey) {
			q.hop.mergeCount(f.Value)
		}
	case len(nodesKey):
		if equalFold(f.Name, nodesKey) {
			q.came = f.Value
			q.hop.mergeNodes(f.Value)
		}
	}
}

func (q *question) hearProto(s string) {
	s = strings.ToLower(s)
	q.secure = q.secure || strings.Contains(s, "https")
	q.plain = !q.secure && strings.Contains(s, "http")
}

func (h *hop) mergeCookies(list string, now cluster.Millis) {
	for pair := range strings.SplitSeq(list, ";") {
		h.merge(strings.TrimSpace(pair), now)
	}
}

// merge takes over the state in pair if it is fresh hop state.
func (h *hop) merge(pair string, now cluster.Millis) {
	value, ok := strings.CutPrefix(pair, Parameter+"=")
	if !ok {
		return
	}
	o, ok := parseHop(value)
	if !ok || !o.fresh(now) {
		return
	}
	h.count, h.route = max(h.count, o.count), cmp.Or(o.route, h.route)
	for _, m := range o.visited {
		h.mark(m)
	}
}

func (h *hop) mergeCount(s string) {
	if n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 31); err == nil {
		h.count = max(h.count, int(min(n, maxHops)))
	}
}

func (h *hop) mergeNodes(s string) {
	for id := range strings.SplitSeq(s, ",") {
		if id = strings.TrimSpace(id); cluster.CheckID(id) == nil {
			h.mark(selection.MarkOf(id))
		}
	}
}
