package affinity

import "strings"

// CutCookie returns the value of the first cookie in list that is called exactly
// name, and what of the list follows it; found is false if there is none. list is
// the value of a Cookie field: name=value pairs with "; " between (RFC 6265 §4.2.1).
// White space is optional, quotes around a value are not part of it, and what is no
// pair is passed over.
func CutCookie(list, name string) (value, rest string, found bool) {
	for list != "" {
		var pair string
		pair, list, _ = strings.Cut(list, ";")
		key, value, ok := strings.Cut(pair, "=")
		if !ok || strings.Trim(key, " \t") != name {
			continue
		}
		return unquoted(strings.Trim(value, " \t")), list, true
	}
	return "", "", false
}

func unquoted(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

// Parameter is a path parameter that carries a session where the client keeps no
// cookies: ";jsessionid=". Empty is none.
type Parameter string

// ParameterOf returns the parameter that stands in for the cookie called name: its
// name in lower case, as the servlet specification has it of JSESSIONID.
func ParameterOf(name string) Parameter {
	if name == "" {
		return ""
	}
	return Parameter(";" + strings.ToLower(name) + "=")
}

// Cut returns the value of the first p in path, which is raw, and the path without
// that parameter; found is false if there is none. The value goes up to the next
// parameter or segment.
func (p Parameter) Cut(path string) (value, rest string, found bool) {
	at := strings.Index(path, string(p))
	if at < 0 || p == "" {
		return "", path, false
	}
	value = path[at+len(p):]
	if end := strings.IndexAny(value, ";/"); end >= 0 {
		return value[:end], path[:at] + value[end:], true
	}
	return value, path[:at], true
}
