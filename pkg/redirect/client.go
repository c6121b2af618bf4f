package redirect

import "strings"

// Client returns the address of the client that the load balancer itself saw, the
// right-most of X-Forwarded-For, without a port; "" if nobody says it.
func (r *Request) Client() string {
	address := ""
	for i := range r.Header {
		if equalFold(r.Header[i].Name, "x-forwarded-for") {
			address = lastAddress(r.Header[i].Value)
		}
	}
	return address
}

// lastAddress returns the last address of a list. A load balancer may be told to
// add the client's port: 192.0.2.1:443, [2001:db8::1]:443.
func lastAddress(list string) string {
	a := strings.TrimSpace(list[strings.LastIndexByte(list, ',')+1:])
	if inside, ok := strings.CutPrefix(a, "["); ok {
		a, _, _ = strings.Cut(inside, "]")
		return a
	}
	if host, _, ok := strings.Cut(a, ":"); ok && strings.IndexByte(host, '.') >= 0 {
		return host
	}
	return a
}
