package albevent

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// windowSize is more than the headers of most requests, and little to copy in
// vain if a body follows.
const windowSize = 4096

// text returns raw[from:to] as a string. Strings are cut from a copy of the
// text around them, so that an event of common size takes one allocation for
// all its strings while a large body is not copied for their sake.
func (s *scanner) text(from, to int) string {
	if to > s.windowFrom+len(s.window) {
		s.windowFrom = from
		s.window = string(s.raw[from:max(to, min(from+windowSize, len(s.raw)))])
	}
	return s.window[from-s.windowFrom : to-s.windowFrom]
}

// str passes over the string at hand and returns it, escapes decoded.
func (s *scanner) str() string {
	text := s.quoted()
	if len(text) == 0 {
		return ""
	}
	if bytes.IndexByte(text, '\\') >= 0 {
		var room [256]byte
		return string(s.unescape(room[:0], text))
	}
	end := s.pos - 1
	return s.text(end-len(text), end)
}

// name passes over a member's name and its colon. The result is valid until raw
// changes.
func (s *scanner) name() []byte {
	text := s.quoted()
	if bytes.IndexByte(text, '\\') >= 0 {
		text = s.unescape(nil, text)
	}
	s.colon()
	return text
}

// scalar passes over the value at hand and returns it as text: a string
// decoded, a number or boolean as it stands. A null, an object and an array are
// the empty string.
func (s *scanner) scalar() string {
	switch s.peek() {
	case '"':
		return s.str()
	case '{', '[':
		s.skip()
		return ""
	}
	text := s.literal()
	if len(text) == 0 || string(text) == "null" {
		return ""
	}
	return s.text(s.pos-len(text), s.pos)
}

// unescape appends text to dst, escapes decoded (RFC 8259 §7). A fault is
// reported behind the string.
func (s *scanner) unescape(dst, text []byte) []byte {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return append(dst, text...)
		}
		dst = append(dst, text[:i]...)
		text = text[i:]
		r, n := escape(text)
		if n == 0 {
			s.fail()
			return dst
		}
		dst = utf8.AppendRune(dst, r)
		text = text[n:]
	}
}

// escape returns the character that the escape at the start of text stands for
// and the length of the escape, 0 if it is none. Half a surrogate pair stands
// for U+FFFD, as in encoding/json. A string never ends in its backslash: that
// one escapes the quote.
func escape(text []byte) (r rune, n int) {
	switch c := text[1]; c {
	case '"', '\\', '/':
		return rune(c), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	}
	r, ok := unit(text)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if low, ok := unit(text[6:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// unit returns the UTF-16 code unit of the \uXXXX that text starts with.
func unit(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	u, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(u), err == nil
}
