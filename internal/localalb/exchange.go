package localalb

import (
	"net"
	"net/http"
	"strconv"
	"strings"
)

// exchange is one request on its way through the load balancer.
type exchange struct {
	lb     *LoadBalancer
	w      http.ResponseWriter
	r      *http.Request // as it arrived
	path   string        // raw, from the request target
	query  string        // raw, without the ?
	marked bool          // there was a ?, though the query may be empty
	header http.Header   // as passed on, see forwarded
	host   string        // as passed on, see forwarded
	rec    Record
}

func (lb *LoadBalancer) newExchange(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{lb: lb, w: w, r: r}
	x.rec = Record{Time: lb.cfg.Now(), Method: r.Method, URI: r.RequestURI}
	x.path, x.query, x.marked = splitTarget(r.RequestURI)
	return x
}

// left reports that the client is gone, and records it.
func (x *exchange) left() bool {
	if x.r.Context().Err() == nil {
		return false
	}
	x.rec.Status, x.rec.Detail = StatusClientClosed, "client closed the connection"
	return true
}

// finish hands out the record, also when a copy to the client was aborted by a
// panic.
func (x *exchange) finish() {
	x.rec.Duration = x.lb.cfg.Now().Sub(x.rec.Time)
	if x.lb.cfg.OnRequest != nil {
		x.lb.cfg.OnRequest(x.rec)
	}
}

// splitTarget cuts a request target (RFC 9112 §3.2) into raw path and query.
// Scheme and authority of the absolute form are dropped.
func splitTarget(uri string) (path, query string, marked bool) {
	if !strings.HasPrefix(uri, "/") {
		if _, rest, absolute := strings.Cut(uri, "://"); absolute {
			uri = rest[authorityLen(rest):]
		}
	}
	path, query, marked = strings.Cut(uri, "?")
	if path == "" {
		path = "/"
	}
	return path, query, marked
}

// authorityLen returns how many bytes of s come before its path or query.
func authorityLen(s string) int {
	if i := strings.IndexAny(s, "/?"); i >= 0 {
		return i
	}
	return len(s)
}

// refusal returns the status of what ALB answers before any rule, and why, or
// 0 (user guide, "Troubleshoot your Application Load Balancers"). That CONNECT
// gets 400 is assumed.
func (x *exchange) refusal() (status int, detail string) {
	switch r := x.r; {
	case r.Method == http.MethodTrace:
		return http.StatusMethodNotAllowed, "method TRACE"
	case r.Method == http.MethodConnect:
		return http.StatusBadRequest, "method CONNECT"
	case len(r.RequestURI) > maxRequestLine:
		return http.StatusRequestURITooLong, "URL over 16 KiB"
	case len(r.Method)+len(r.RequestURI)+len(r.Proto)+2 > maxRequestLine:
		return http.StatusBadRequest, "request line over 16 KiB"
	}
	if detail := x.oversize(); detail != "" {
		return http.StatusBadRequest, detail
	}
	if n := len(addresses(x.r.Header)); n > maxForwardedFor {
		return 463, strconv.Itoa(n) + " addresses in X-Forwarded-For"
	}
	return 0, ""
}

// oversize names the header limit that the request exceeds, if any. A header
// counts as "name: value", without its line end.
func (x *exchange) oversize() string {
	total := len("Host: ") + len(x.r.Host)
	for name, values := range x.r.Header {
		for _, v := range values {
			size := len(name) + len(": ") + len(v)
			if size > maxHeader {
				return "header " + name + " over 16 KiB"
			}
			total += size
		}
	}
	if total > maxHeaders {
		return "headers over 64 KiB"
	}
	return ""
}

// port returns the listener's port as it is told to others.
func (x *exchange) port() string {
	if p := x.lb.cfg.Port; p != 0 {
		return strconv.Itoa(p)
	}
	if addr, ok := x.r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		if _, port, err := net.SplitHostPort(addr.String()); err == nil {
			return port
		}
	}
	return defaultPort(x.scheme())
}

func (x *exchange) scheme() string {
	if x.r.TLS != nil {
		return "https"
	}
	return "http"
}

func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}
