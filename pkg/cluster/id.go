package cluster

import (
	"errors"
	"fmt"
	"strings"
)

// ErrInvalid reports a value that the registry never takes: an id, a target,
// an endpoint or a record out of its form. The text around it says which.
var ErrInvalid = errors.New("cluster: invalid")

const maxID = 128

// CheckID returns nil if id is 1 to 128 characters of A–Z, a–z, 0–9, '.', '_',
// '@' and '-', and an error that wraps [ErrInvalid] otherwise.
func CheckID(id string) error {
	if id == "" || len(id) > maxID {
		return fmt.Errorf("%w: id %.40q has %d characters, not 1 to %d", ErrInvalid, id, len(id), maxID)
	}
	for i := range len(id) {
		if !idByte(id[i]) {
			return fmt.Errorf("%w: id %.40q has a character other than A-Z a-z 0-9 . _ @ -", ErrInvalid, id)
		}
	}
	return nil
}

func idByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '.' || c == '_' || c == '@' || c == '-'
}

// CheckContext returns nil if path can be a context: it begins with '/', has no
// '?', '#', space or control byte, and ends in '/' only if it is "/".
func CheckContext(path string) error {
	switch {
	case !strings.HasPrefix(path, "/"), len(path) > 1 && strings.HasSuffix(path, "/"):
		return fmt.Errorf("%w: context %.40q does not begin with / or ends in one", ErrInvalid, path)
	case strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '?' || r == '#' }):
		return fmt.Errorf("%w: context %.40q has a space, control character, ? or #", ErrInvalid, path)
	}
	return nil
}
