package selection

import "strings"

// contextSet is a set of contexts that finds the longest one above a path.
type contextSet struct {
	has     map[string]bool
	longest int // bytes of the longest member: no longer prefix is looked up
}

func (s *contextSet) add(context string) {
	if s.has == nil {
		s.has = make(map[string]bool)
	}
	s.has[context] = true
	s.longest = max(s.longest, len(context))
}

// match returns the longest member that is a prefix of path by whole segments,
// empty if there is none. "/" is a prefix of every path, "/shop" of "/shop" and
// "/shop/", not of "/shopping". Bytes are compared as they are, nothing is decoded.
func (s *contextSet) match(path string) string {
	for end := min(len(path), s.longest); end > 0; end = strings.LastIndexByte(path[:end], '/') {
		border := end == len(path) || path[end] == '/'
		if border && path[0] == '/' && s.has[path[:end]] {
			return path[:end]
		}
	}
	if s.has["/"] {
		return "/"
	}
	return ""
}
