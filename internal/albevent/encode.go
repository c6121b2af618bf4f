package albevent

import (
	"net/http"
	"strconv"

	"github.com/detourhq/detour/pkg/redirect"
)

// Encode returns a as the load balancer takes it in mode m. Every field is
// there and none is null, but that an empty body is left out; the body is
// text, never base64. statusDescription is the code and its reason phrase,
// "Unknown" where RFC 9110 has none. The caller sees to it that a body comes
// with a Content-Type: the load balancer's own is application/octet-stream.
//
// Names that differ in case only are one name, written as the first of them. In
// Single mode its values are joined with ", " (RFC 9110 §5.3), but for
// Set-Cookie, which cannot be joined (RFC 6265 §3): each cookie has a spelling
// of the name to itself, sEt-Cookie and so on, which the load balancer sends as
// fields of their own. There are 512; further cookies are left out.
//
// A field is left out if its name is no token (RFC 9110 §5.6.2), or if its
// value holds other than tab and printable ASCII: no line break gets through,
// and how a load balancer sends other bytes is not documented.
func Encode(a redirect.Answer, m Mode) []byte {
	b := make([]byte, 0, size(a))
	b = append(b, `{"statusCode":`...)
	b = strconv.AppendInt(b, int64(a.Status), 10)
	b = append(b, `,"statusDescription":"`...)
	b = strconv.AppendInt(b, int64(a.Status), 10)
	b = append(b, ' ')
	b = append(b, reason(a.Status)...)
	b = append(b, `","isBase64Encoded":false`...)
	if m == Multi {
		b = append(b, `,"multiValueHeaders":{`...)
	} else {
		b = append(b, `,"headers":{`...)
	}
	b = appendHeader(b, a.Header, m)
	b = append(b, '}')
	if a.Body != "" {
		b = append(b, `,"body":`...)
		b = appendString(b, a.Body)
	}
	return append(b, '}')
}

// size estimates the length of a's JSON: short only if more than a quarter of
// it has to be escaped.
func size(a redirect.Answer) int {
	n := 256 + len(a.Body)
	for i := range a.Header {
		n += len(a.Header[i].Name) + len(a.Header[i].Value) + len(`"":[""],`)
	}
	return n + n/4
}

func reason(status int) string {
	if text := http.StatusText(status); text != "" {
		return text
	}
	return "Unknown"
}
