package redirect

import (
	"fmt"
	"strings"

	"github.com/detourhq/detour/pkg/cluster"
)

// healthPath is answered here, for whoever asks.
const healthPath = "/_health"

// isHealthCheck reports whether req asks after the function itself. A load
// balancer's own check has neither a host nor a client (AWS, "Lambda functions
// as targets"); its User-Agent alone proves nothing, since anyone can send it.
func isHealthCheck(req *Request) bool {
	return req.Path == healthPath ||
		req.Header.Get("host") == "" && req.Header.Get("x-forwarded-for") == "" &&
			strings.HasPrefix(req.Header.Get("user-agent"), "ELB-HealthChecker/")
}

// isDeep reports whether the query has the key deep: the registry is asked too.
func isDeep(req *Request) bool {
	if req.Query == "" {
		return false
	}
	for pair := range strings.SplitSeq(req.Query, "&") {
		if key, _, _ := strings.Cut(pair, "="); key == "deep" {
			return true
		}
	}
	return false
}

func health(req *Request, status int, body string) Decision {
	a := Answer{
		Status: status,
		Header: Header{{"Cache-Control", "no-store"}, {"Content-Type", "application/json"}},
		Body:   body,
	}
	if req.Method == "HEAD" {
		a.Body = ""
	}
	return Decision{Answer: a, Outcome: Health}
}

// deepHealth is 200 if anyone at all could be offered.
func (v *view) deepHealth(req *Request, now cluster.Millis) Decision {
	s := v.snapshot
	status, word := 200, "ok"
	if !v.table.AnyOffered(now) {
		status, word = 503, "nobody offered"
	}
	d := health(req, status, fmt.Sprintf(`{"status":%q,"epoch":%d,"nodes":%d,"broken":%d}`,
		word, s.Epoch, len(s.Nodes), len(s.Broken)))
	d.Header = append(d.Header, Field{epochKey, v.epoch})
	return d
}
