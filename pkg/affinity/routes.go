package affinity

import "strings"

// MaxRoutes is how many names are read of one request; what comes after them is
// left out. No server writes as many.
const MaxRoutes = 16

// cacheID is how many characters WebSphere writes before a session's id.
const cacheID = 4

// AppendRoutes appends the names that value, which is a session's, holds in format
// f, in order, none of them empty, up to [MaxRoutes] in all. A value that is not in
// the format has none. It keeps value, and allocates only if dst is too small.
func (f Format) AppendRoutes(dst []string, value string) []string {
	switch f {
	case JVMRoute, JEUS:
		return appendDotted(dst, value)
	case WebLogic:
		return appendJVMs(dst, value)
	case WebSphere:
		return appendClones(dst, value)
	case Recognise:
		return appendDotted(appendClones(appendJVMs(dst, value), value), value)
	}
	return dst
}

// appendDotted appends, for each dot, all that follows it, and then what follows
// it to the next dot.
func appendDotted(dst []string, value string) []string {
	_, rest, more := strings.Cut(value, ".")
	for more && len(dst) < MaxRoutes {
		dst = appendRoute(dst, rest)
		var route string
		if route, rest, more = strings.Cut(rest, "."); more {
			dst = appendRoute(dst, route)
		}
	}
	return dst
}

// appendJVMs appends the primary and the secondary; the time, which may follow,
// is nobody's name.
func appendJVMs(dst []string, value string) []string {
	_, rest, _ := strings.Cut(value, "!")
	primary, rest, _ := strings.Cut(rest, "!")
	secondary, _, _ := strings.Cut(rest, "!")
	return appendRoute(appendRoute(dst, primary), secondary)
}

// appendClones appends what follows each colon.
func appendClones(dst []string, value string) []string {
	id, rest, more := strings.Cut(value, ":")
	if len(id) <= cacheID {
		return dst
	}
	for more && len(dst) < MaxRoutes {
		var clone string
		clone, rest, more = strings.Cut(rest, ":")
		dst = appendRoute(dst, clone)
	}
	return dst
}

func appendRoute(dst []string, route string) []string {
	if route == "" || len(dst) >= MaxRoutes {
		return dst
	}
	return append(dst, route)
}
