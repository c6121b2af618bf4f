package localalb

// pattern is a compiled condition value: bytes to compare, and wildcards.
type pattern []symbol

type symbol struct {
	kind symbolKind
	char byte // if kind is literal
}

type symbolKind byte

const (
	literal symbolKind = iota
	anyOne             // ?
	anyRun             // *
)

// parsePattern compiles s. With escapes a backslash makes a following *, ? or
// backslash literal, as in query-string conditions.
func parsePattern(s string, escapes bool) pattern {
	p := make(pattern, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case escapes && c == '\\' && i+1 < len(s) && isEscapable(s[i+1]):
			i++
			p = append(p, symbol{char: s[i]})
		case c == '?':
			p = append(p, symbol{kind: anyOne})
		case c == '*':
			p = append(p, symbol{kind: anyRun})
		default:
			p = append(p, symbol{char: c})
		}
	}
	return p
}

func isEscapable(c byte) bool { return c == '*' || c == '?' || c == '\\' }

// wildcards returns how many * and ? count against the limit of a rule.
func (p pattern) wildcards() int {
	n := 0
	for _, s := range p {
		if s.kind != literal {
			n++
		}
	}
	return n
}

// match reports whether all of s fits p: * stands for any run of bytes, also
// an empty one, ? for exactly one.
func (p pattern) match(s string) bool {
	i, j := 0, 0           // next of p, next of s
	star, resume := -1, -1 // last * of p, and where in s its run ends
	for j < len(s) {
		switch {
		case i < len(p) && p[i].kind == anyRun:
			star, resume = i, j
			i++
		case i < len(p) && (p[i].kind == anyOne || p[i].char == s[j]):
			i++
			j++
		case star >= 0:
			resume++
			i, j = star+1, resume
		default:
			return false
		}
	}
	for i < len(p) && p[i].kind == anyRun {
		i++
	}
	return i == len(p)
}
