package redirect

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

// Parameter is the query parameter, and the cookie, that carries the hop state:
//
//	detour=<hops>.<unix seconds, base 36>[.<mark of a visited node, base 36>…][~<route>]
const Parameter = "detour"

const (
	maxHops    = 99 // two digits
	maxMarks   = 16
	maxSeconds = 1 << 40 // eight digits of base 36
)

// hop is what a request brings along from the redirects before.
type hop struct {
	count   int              // redirects so far
	visited []selection.Mark // of the nodes that it was led to, the first 16 of them
	at      cluster.Millis
	route   string // of the redirect before, empty if it named none
}

// mark remembers a node.
func (h *hop) mark(m selection.Mark) {
	if len(h.visited) < maxMarks && !slices.Contains(h.visited, m) {
		h.visited = append(h.visited, m)
	}
}

// parseHop reads the value of the parameter; ok is false if it is out of form.
func parseHop(s string) (h hop, ok bool) {
	s, route, routed := strings.Cut(s, "~")
	if routed && !isRoute(route) {
		return hop{}, false
	}
	count, s, ok := strings.Cut(s, ".")
	if !ok || count == "" || len(count) > 2 || count[0] == '0' {
		return hop{}, false
	}
	n, err := strconv.ParseUint(count, 10, 8)
	if err != nil {
		return hop{}, false
	}
	seconds, s, more := strings.Cut(s, ".")
	at, ok := parse36(seconds, maxSeconds)
	if !ok {
		return hop{}, false
	}
	h = hop{count: int(n), at: cluster.Millis(at * 1000), route: route}
	for more {
		var mark string
		mark, s, more = strings.Cut(s, ".")
		m, ok := parse36(mark, math.MaxUint32)
		if !ok || len(h.visited) == maxMarks {
			return hop{}, false
		}
		h.mark(selection.Mark(m))
	}
	return h, true
}

// parse36 reads a number of at most most in lower-case base 36 without sign or
// leading zeros.
func parse36(s string, most uint64) (uint64, bool) {
	if s == "" || len(s) > 8 || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	var n uint64
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			n = n*36 + uint64(c-'0')
		case 'a' <= c && c <= 'z':
			n = n*36 + uint64(c-'a') + 10
		default:
			return 0, false
		}
	}
	return n, n <= most
}

// append36 appends n in the form that parse36 reads. It takes a quarter of the
// time of strconv, which does not know the base beforehand.
func append36(b []byte, n uint64) []byte {
	var room [13]byte
	i := len(room)
	for {
		i--
		room[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[n%36]
		if n /= 36; n == 0 {
			return append(b, room[i:]...)
		}
	}
}

// isRoute reports whether s can end the parameter: [a-z0-9-]+.
func isRoute(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return s != ""
}

// appendHop appends the parameter's value. The count is 1 to 99.
func appendHop(b []byte, h *hop, now cluster.Millis, route string) []byte {
	b = strconv.AppendInt(b, int64(h.count), 10)
	b = append(b, '.')
	b = append36(b, uint64(min(max(now/1000, 0), maxSeconds)))
	for _, m := range h.visited {
		b = append(b, '.')
		b = append36(b, uint64(m))
	}
	if route != "" {
		b = append(b, '~')
		b = append(b, route...)
	}
	return b
}
