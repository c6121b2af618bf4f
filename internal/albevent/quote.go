package albevent

import "unicode/utf8"

// appendString appends s as a JSON string.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	b = appendEscaped(b, s)
	return append(b, '"')
}

// appendEscaped appends s as it stands between the quotes of a JSON string.
// Bytes that are not UTF-8 become U+FFFD, as in encoding/json; nothing is
// escaped for HTML.
func appendEscaped(b []byte, s string) []byte {
	done := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if ' ' <= c && c < utf8.RuneSelf && c != '"' && c != '\\' {
			continue
		}
		if r, n := utf8.DecodeRuneInString(s[i:]); c >= utf8.RuneSelf && (r != utf8.RuneError || n > 1) {
			i += n - 1
			continue
		}
		b = append(b, s[done:i]...)
		b = appendEscape(b, c)
		done = i + 1
	}
	return append(b, s[done:]...)
}

// appendEscape appends the escape for c: a character that cannot stand in a
// JSON string, or a byte that is not UTF-8.
func appendEscape(b []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	if c >= utf8.RuneSelf {
		return append(b, `\ufffd`...)
	}
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
}
