package localalb

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

// newTransport returns the connections from the load balancer to the targets
// of one group. A request that meets a kept-alive connection which its target
// has just closed may be repeated by net/http on a new connection to the same
// target; where ALB answers 502 instead, this hides it. Requests are never
// repeated on another target.
func newTransport(cfg Config) *http.Transport {
	return &http.Transport{
		DialContext:           (&net.Dialer{Timeout: cfg.ConnectTimeout}).DialContext,
		DisableCompression:    true,
		MaxIdleConnsPerHost:   64,
		ResponseHeaderTimeout: cfg.IdleTimeout,
	}
}

// serve sends x to a target and streams the answer back.
func (g *httpGroup) serve(x *exchange) {
	addr, ok := g.pick(x.r)
	if !ok {
		x.fail(http.StatusServiceUnavailable, "", "no registered target")
		return
	}
	x.rec.Target = addr
	// Without this, net/http reads all of the request before it answers.
	_ = http.NewResponseController(x.w).EnableFullDuplex() // HTTP/2 always is
	proxy := httputil.ReverseProxy{
		Transport:     g.transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		Rewrite:       func(p *httputil.ProxyRequest) { x.rewrite(p.Out, addr) },
		ModifyResponse: func(res *http.Response) error {
			x.rec.TargetStatus, x.rec.Status = res.StatusCode, res.StatusCode
			g.sticky.bind(res.Header, addr, x.r.TLS != nil)
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { x.unreachable(err) },
	}
	proxy.ServeHTTP(x.w, x.r)
}

// rewrite makes out, from which ReverseProxy has removed hop-by-hop headers,
// the request that the target gets.
func (x *exchange) rewrite(out *http.Request, addr string) {
	out.URL = rawURL(addr, x.path, x.query, x.marked)
	out.Host = x.host
	for _, name := range []string{"Forwarded", "X-Forwarded-Host", headerFor, headerProto, headerPort, headerTrace} {
		if v, ok := x.header[name]; ok {
			out.Header[name] = v
		} else {
			delete(out.Header, name)
		}
	}
}

// rawURL returns a URL that is sent as exactly path and query. In one case
// net/url cannot: a path that begins with // and has bytes which RFC 3986
// forbids, or an invalid escape, is percent-encoded where it must be.
func rawURL(addr, path, query string, marked bool) *url.URL {
	u := &url.URL{Scheme: "http", Host: addr, RawQuery: query, ForceQuery: marked, RawPath: path}
	decoded, err := url.PathUnescape(path)
	if err != nil {
		decoded = path
	}
	u.Path = decoded
	if (err != nil || u.EscapedPath() != path) && !strings.HasPrefix(path, "//") {
		u.Path, u.RawPath, u.Opaque = "", "", path
	}
	return u
}

// unreachable answers for a target that sent no answer: 504 if it took too
// long to connect or to answer, else 502.
func (x *exchange) unreachable(err error) {
	if x.left() {
		return
	}
	status := http.StatusBadGateway
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		status = http.StatusGatewayTimeout
	}
	x.fail(status, "", err.Error())
}
