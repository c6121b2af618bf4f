package localalb

import (
	"net"
	"net/http"
	"strings"
)

// Headers that ALB adds to, or replaces in, each request that it passes on
// (user guide, "HTTP headers and Application Load Balancers").
const (
	headerFor   = "X-Forwarded-For"
	headerProto = "X-Forwarded-Proto"
	headerPort  = "X-Forwarded-Port"
	headerTrace = "X-Amzn-Trace-Id"
)

// forwarded prepares header and host as targets and functions see them. Other
// X-Forwarded headers and Forwarded stay as the client sent them.
func (x *exchange) forwarded() {
	x.header = x.r.Header.Clone()
	switch x.lb.cfg.XFF {
	case XFFRemove:
		x.header.Del(headerFor)
	case XFFAppend:
		x.header.Set(headerFor, strings.Join(append(addresses(x.r.Header), x.peer()), ", "))
	}
	x.header.Set(headerProto, x.scheme())
	x.header.Set(headerPort, x.port())
	x.header.Set(headerTrace, traceID(x.r.Header.Get(headerTrace), newTraceID(x.rec.Time)))
	x.host = x.passedHost()
}

// addresses returns the addresses of all X-Forwarded-For headers in order.
// How ALB joins two such headers is not documented; here they become one.
func addresses(h http.Header) []string {
	var all []string
	for _, v := range h.Values(headerFor) {
		for a := range strings.SplitSeq(v, ",") {
			if a = strings.TrimSpace(a); a != "" {
				all = append(all, a)
			}
		}
	}
	return all
}

// peer returns the client's address: IPv6 unbracketed, unless its port is
// asked for too.
func (x *exchange) peer() string {
	if x.lb.cfg.XFFClientPort {
		return x.r.RemoteAddr
	}
	host, _, err := net.SplitHostPort(x.r.RemoteAddr)
	if err != nil {
		return x.r.RemoteAddr
	}
	return host
}

// passedHost returns the Host header for targets and functions.
func (x *exchange) passedHost() string {
	host := or(x.r.Host, x.lb.cfg.DNSName)
	if x.lb.cfg.PreserveHost {
		return host
	}
	name, port, ok := cutPort(host)
	if standard := x.port() == "80" || x.port() == "443"; standard {
		if port == "80" || port == "443" {
			return name
		}
		return host
	}
	if !ok {
		return host + ":" + x.port()
	}
	return host
}

// cutPort splits host:port. Brackets of an IPv6 address stay. Without a port
// ok is false and name is host.
func cutPort(host string) (name, port string, ok bool) {
	i := strings.LastIndexByte(host, ':')
	if i < 0 || strings.HasSuffix(host, "]") {
		return host, "", false
	}
	return host[:i], host[i+1:], true
}

// traceID returns the X-Amzn-Trace-Id to pass on for the one received, which
// may be empty, and a fresh id (user guide, "Request tracing"): Root is kept
// or added, Self is added or renewed, other fields are kept. One over 7 KiB
// is replaced.
func traceID(received, fresh string) string {
	if received == "" || len(received) > maxTraceHeader {
		return "Root=" + fresh
	}
	var kept []string
	rooted := false
	for field := range strings.SplitSeq(received, ";") {
		name, _, _ := strings.Cut(strings.TrimSpace(field), "=")
		if name == "Self" {
			continue
		}
		rooted = rooted || name == "Root"
		kept = append(kept, field)
	}
	added := "Root=" + fresh
	if rooted {
		added = "Self=" + fresh
	}
	return strings.Join(append([]string{added}, kept...), ";")
}
