package redirect

import (
	"slices"
	"strings"
)

// maxLocation bounds the Location field: load balancers and servers refuse a
// request line over 16 KB, some over 8 KB.
const maxLocation = 8 << 10

// appendLocation appends base + path + "?" + query + the hop parameter, without
// the hop state that query brings along. Bytes stay as the client sent them, in
// the same order; only those that no URL may hold are percent-encoded (RFC 3986
// §3.3, §3.4). Nothing is decoded. hop is nil where something else carries it.
func appendLocation(b []byte, base, path, query string, hop []byte) []byte {
	b = append(b, base...)
	b = appendEncoded(b, path, false)
	sep := byte('?')
	if query != "" {
		for pair := range strings.SplitSeq(query, "&") {
			if isHop(pair) {
				continue
			}
			b = append(b, sep)
			b = appendEncoded(b, pair, true)
			sep = '&'
		}
	}
	if hop != nil {
		b = append(b, sep)
		b = append(b, Parameter...)
		b = append(b, '=')
		b = append(b, hop...)
	}
	return b
}

// StripHop returns query without the hop state in it, however old: what the
// application was sent. All other bytes stay.
func StripHop(query string) string {
	if !strings.Contains(query, Parameter+"=") {
		return query
	}
	return strings.Join(slices.DeleteFunc(strings.Split(query, "&"), isHop), "&")
}

// isHop reports whether a pair of a query is hop state, however old. Anything
// else called detour is the application's own and stays.
func isHop(pair string) bool {
	value, ok := strings.CutPrefix(pair, Parameter+"=")
	if !ok {
		return false
	}
	_, ok = parseHop(value)
	return ok
}

// appendEncoded appends s with each byte percent-encoded that a path, or a query,
// may not hold, and each '%' that no two hex digits follow.
func appendEncoded(b []byte, s string, query bool) []byte {
	done := 0
	for i := range len(s) {
		c := s[i]
		if urlByte[c] || query && c == '?' || c == '%' && escape(s, i) {
			continue
		}
		b = append(b, s[done:i]...)
		b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		done = i + 1
	}
	return append(b, s[done:]...)
}

const upperHex = "0123456789ABCDEF"

// escape reports whether s[i], a '%', begins a percent-encoding.
func escape(s string, i int) bool { return i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) }

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// urlByte holds the bytes that stand for themselves in a path and in a query:
// pchar without pct-encoded, and "/" (RFC 3986 §3.3).
var urlByte = func() (t [256]bool) {
	for c := range 256 {
		b := byte(c)
		t[c] = 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' ||
			strings.IndexByte("-._~"+"!$&'()*+,;="+":@"+"/", b) >= 0
	}
	return t
}()

// hasControl reports whether s holds a control character.
func hasControl(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return true
		}
	}
	return false
}
