package gate

import (
	"net"
	"net/http"
	"strings"

	"github.com/detourhq/detour/pkg/redirect"
)

// request returns r as the redirector wants it: with the bytes of path and query
// that the client sent, whatever handlers before the gate made of them. What a
// load balancer would have added is added where there was none.
func request(r *http.Request) *redirect.Request {
	target := r.RequestURI
	if !strings.HasPrefix(target, "/") && target != "*" { // RFC 9112 §3.2.2, or a test's request
		target = r.URL.RequestURI()
	}
	req := &redirect.Request{Method: r.Method, TargetGroup: ownTargetGroupARN}
	req.Path, req.Query, _ = strings.Cut(target, "?")
	req.Header = append(make(redirect.Header, 0, len(r.Header)+3), redirect.Field{Name: "Host", Value: r.Host})
	for name, values := range r.Header {
		for _, value := range values {
			req.Header = append(req.Header, redirect.Field{Name: name, Value: value})
		}
	}
	add := func(name, value string) {
		if r.Header.Get(name) == "" {
			req.Header = append(req.Header, redirect.Field{Name: name, Value: value})
		}
	}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		add("X-Forwarded-For", host)
	}
	if r.TLS != nil {
		add("X-Forwarded-Proto", "https")
	} else {
		add("X-Forwarded-Proto", "http")
	}
	return req
}
