package gate

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

// health answers a load balancer: 503 from the moment of the node's pause, and
// while it starts, so that it is taken out; and else as well does. nil means 200.
func (g *Gate) health(w http.ResponseWriter, r *http.Request, well http.Handler) {
	st := g.state.Load()
	st.stamp(w)
	status, body := http.StatusOK, `{"status":"ok"}`
	switch {
	case st.whole.mode != "":
		status, body = http.StatusServiceUnavailable, `{"status":"paused"}`
	case st.whole.starting:
		status, body = http.StatusServiceUnavailable, `{"status":"starting"}`
	case well != nil:
		well.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = io.WriteString(w, body)
	}
}

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

// entry is what the table tells of a node: no more than its clients may know.
type entry struct {
	ID       string   `json:"id"`
	Group    string   `json:"group"`
	Endpoint string   `json:"endpoint"`
	Contexts []string `json:"contexts"`
	Offered  bool     `json:"offered"` // in one of its contexts
}

// clusterTable returns the nodes of s as JSON, judged at now.
func clusterTable(s *cluster.Snapshot, c selection.Config, now cluster.Millis) []byte {
	table := selection.NewTable(s, now, c)
	offered := make(map[string]bool)
	for service, contexts := range served(s) {
		for context := range contexts {
			for _, v := range table.Explain(selection.Query{Service: service, Path: context}, now) {
				offered[v.Node.ID] = offered[v.Node.ID] || v.Offered
			}
		}
	}
	entries := make([]entry, 0, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		entries = append(entries, entry{n.ID, n.Group, n.Endpoint, n.ContextList(), offered[n.ID]})
	}
	body, err := json.Marshal(struct {
		Epoch int64   `json:"epoch"`
		Nodes []entry `json:"nodes"`
	}{s.Epoch, entries})
	if err != nil {
		return []byte("{}") // strings and numbers always encode
	}
	return body
}

// served returns the contexts of the nodes of each service.
func served(s *cluster.Snapshot) map[string]map[string]struct{} {
	services := make(map[string]map[string]struct{})
	for i := range s.Nodes {
		name := s.Service(s.Nodes[i].Group)
		if services[name] == nil {
			services[name] = make(map[string]struct{})
		}
		for _, context := range s.Nodes[i].ContextList() {
			services[name][context] = struct{}{}
		}
	}
	return services
}
