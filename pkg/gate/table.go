package gate

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

// serveCluster answers with the table of the epoch that the gate acts on, or 304
// where the client has it (RFC 9110 §13.1.2). The validator is a weak one: two
// gates may judge a node at the edge of staleness differently.
func (g *Gate) serveCluster(w http.ResponseWriter, r *http.Request) {
	st := g.state.Load()
	st.stamp(w)
	header := w.Header()
	header.Set("Cache-Control", "no-cache")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case st.snapshot == nil:
		header.Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	tag := `"` + st.epoch[0] + `"`
	header.Set("ETag", "W/"+tag)
	if matches(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Type", "application/json")
	if r.Method != http.MethodHead {
		_, _ = w.Write(st.table())
	}
}

// matches reports whether an If-None-Match field names tag, by weak comparison
// (RFC 9110 §8.8.3.2).
func matches(field, tag string) bool {
	for t := range strings.SplitSeq(field, ",") {
		if t = strings.TrimSpace(t); t == "*" || strings.TrimPrefix(t, "W/") == tag {
			return true
		}
	}
	return false
}

// clusterTable returns the nodes of s as JSON, judged at now.
func clusterTable(s *cluster.Snapshot, c selection.Config, now cluster.Millis) []byte {
	offered := selection.NewTable(s, now, c).Offered(now)
	t := Table{Epoch: s.Epoch, Nodes: make([]TableNode, 0, len(s.Nodes))}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		t.Nodes = append(t.Nodes, TableNode{n.ID, n.Group, n.Endpoint, n.ContextList(), offered[i]})
	}
	body, err := json.Marshal(t)
	if err != nil {
		return []byte("{}") // strings and numbers always encode
	}
	return body
}
