package albevent

import (
	"strings"

	"github.com/detourhq/detour/pkg/redirect"
)

const setCookie = "Set-Cookie"

// appendHeader appends the members that h makes in mode m.
func appendHeader(b []byte, h redirect.Header, m Mode) []byte {
	start := len(b)
	for i := range h {
		if !sendable(h[i]) || has(h[:i], h[i].Name) {
			continue
		}
		if len(b) > start {
			b = append(b, ',')
		}
		switch {
		case m == Multi:
			b = appendMember(b, h[i:], `["`, `","`, `"]`)
		case strings.EqualFold(h[i].Name, setCookie):
			b = appendCookies(b, h[i:])
		default:
			b = appendMember(b, h[i:], `"`, `, `, `"`)
		}
	}
	return b
}

// has reports whether h holds a sendable field called name.
func has(h redirect.Header, name string) bool {
	return next(h, name, 0) < len(h)
}

// next returns the index of the first sendable field called name in h that is
// not before from, and len(h) if there is none.
func next(h redirect.Header, name string, from int) int {
	for from < len(h) && (!strings.EqualFold(h[from].Name, name) || !sendable(h[from])) {
		from++
	}
	return from
}

// appendMember appends the member of the name of h's first field, with all
// values that h has for it between open and end, sep between them.
func appendMember(b []byte, h redirect.Header, open, sep, end string) []byte {
	b = append(b, '"')
	b = append(b, h[0].Name...)
	b = append(b, `":`...)
	b = append(b, open...)
	b = appendEscaped(b, h[0].Value)
	for i := next(h, h[0].Name, 1); i < len(h); i = next(h, h[0].Name, i+1) {
		b = append(b, sep...)
		b = appendEscaped(b, h[i].Value)
	}
	return append(b, end...)
}

// appendCookies appends a member for each cookie that h sets, as long as there
// are spellings.
func appendCookies(b []byte, h redirect.Header) []byte {
	const spellings = 1 << 9 // nine letters
	for i, n := 0, 0; i < len(h) && n < spellings; i, n = next(h, setCookie, i+1), n+1 {
		if n > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = appendSpelling(b, setCookie, n)
		b = append(b, `":`...)
		b = appendString(b, h[i].Value)
	}
	return b
}

// appendSpelling appends name in its nth spelling: bit i of n is whether the
// case of its ith letter is the other one. The 0th is name itself.
func appendSpelling(b []byte, name string, n int) []byte {
	for i := range len(name) {
		c := name[i]
		if c != '-' {
			c ^= byte(n&1) << 5
			n >>= 1
		}
		b = append(b, c)
	}
	return b
}

func sendable(f redirect.Field) bool {
	for i := range len(f.Name) {
		if !tokenByte(f.Name[i]) {
			return false
		}
	}
	for i := range len(f.Value) {
		if c := f.Value[i]; c != '\t' && (c < ' ' || c > '~') {
			return false
		}
	}
	return f.Name != ""
}

// tokenByte reports whether c is a tchar (RFC 9110 §5.6.2).
func tokenByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || '0' <= c && c <= '9' ||
		strings.IndexByte("!#$%&'*+.^_`|~", c) >= 0
}
