package albevent

import (
	"bytes"
	"fmt"
)

// maxDepth bounds nesting, and with it the stack; encoding/json has the same.
const maxDepth = 10_000

// scanner walks over JSON text (RFC 8259). After a fault it is at the end of
// the text, where every step fails and every loop ends: callers need not check
// until they are done.
//
// It is strict about structure. It does not look into strings and numbers that
// nobody asks for, and takes control characters and invalid UTF-8 as they are.
type scanner struct {
	raw   []byte
	pos   int
	depth int
	err   error // the first fault, wraps ErrMalformed

	window     string // a copy of raw[windowFrom:], as far as it goes
	windowFrom int
}

func (s *scanner) fail() {
	if s.err == nil {
		s.err = fmt.Errorf("decode event at byte %d of %d: %w", s.pos, len(s.raw), ErrMalformed)
	}
	s.pos = len(s.raw)
}

// peek passes over white space and returns the byte after it, 0 at the end.
func (s *scanner) peek() byte {
	for ; s.pos < len(s.raw); s.pos++ {
		switch c := s.raw[s.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// first enters the object or array at hand, which end closes, and reports
// whether it holds anything.
func (s *scanner) first(end byte) bool {
	if s.depth++; s.depth > maxDepth {
		s.fail()
		return false
	}
	s.pos++
	if s.peek() == end {
		s.leave()
		return false
	}
	return true
}

// next passes over the comma before another item and reports true, or leaves
// the object or array.
func (s *scanner) next(end byte) bool {
	switch s.peek() {
	case ',':
		s.pos++
		return true
	case end:
		s.leave()
	default:
		s.fail()
	}
	return false
}

func (s *scanner) leave() {
	s.pos++
	s.depth--
}

// colon passes over the colon between a member's name and its value.
func (s *scanner) colon() {
	if s.peek() != ':' {
		s.fail()
		return
	}
	s.pos++
}

// quoted passes over the string at hand and returns what is between its quotes,
// escapes as they are. Its time is a byte search, with a stop at each quote.
func (s *scanner) quoted() []byte {
	if s.peek() != '"' {
		s.fail()
		return nil
	}
	start := s.pos + 1
	for from := start; ; {
		n := bytes.IndexByte(s.raw[from:], '"')
		if n < 0 {
			s.pos = len(s.raw)
			s.fail()
			return nil
		}
		if end := from + n; !escaped(s.raw[from:end]) {
			s.pos = end + 1
			return s.raw[start:end]
		}
		from += n + 1
	}
}

// escaped reports whether the byte after text is: whether the backslashes that
// text ends in are odd in number.
func escaped(text []byte) bool {
	n := 0
	for n < len(text) && text[len(text)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// literal passes over the number, true, false or null at hand and returns it.
// Of a number only the characters are checked.
func (s *scanner) literal() []byte {
	s.peek()
	end := s.pos
	for end < len(s.raw) && literalByte(s.raw[end]) {
		end++
	}
	text := s.raw[s.pos:end]
	switch {
	case len(text) > 0 && (text[0] == '-' || '0' <= text[0] && text[0] <= '9'):
	case string(text) == "true", string(text) == "false", string(text) == "null":
	default:
		s.fail()
		return nil
	}
	s.pos = end
	return text
}

func literalByte(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'E'
}

// skip passes over the value at hand, whatever it is.
func (s *scanner) skip() {
	switch s.peek() {
	case '"':
		s.quoted()
	case '{':
		for more := s.first('}'); more; more = s.next('}') {
			s.quoted()
			s.colon()
			s.skip()
		}
	case '[':
		for more := s.first(']'); more; more = s.next(']') {
			s.skip()
		}
	default:
		s.literal()
	}
}
