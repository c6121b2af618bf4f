package redirect

// Request is what a decision needs to know of an HTTP request. Bytes are as
// the client sent them: nothing is decoded, cleaned or reordered.
type Request struct {
	Method string
	Path   string // raw, still percent-encoded; empty means "/"
	Query  string // raw, without "?", keys in the order received
	Header Header

	// TargetGroup is the ARN of the load balancer's target group that the
	// request came through, empty where there is none.
	TargetGroup string
}

// Answer is a complete HTTP response. Its header names are canonical and its
// values are valid field values (RFC 9110 §5.5): they can be sent as they are.
type Answer struct {
	Status int
	Header Header
	Body   string // empty for a bodiless answer
}

// Header is a list of header fields in the order received or to be sent.
type Header []Field

// Field is one header field line.
type Field struct{ Name, Value string }

// Get returns the value of the first field called name, whatever its case, and
// "" if there is none.
func (h Header) Get(name string) string {
	for i := range h {
		if equalFold(h[i].Name, name) {
			return h[i].Value
		}
	}
	return ""
}

// equalFold compares header names: they are ASCII, and mostly lower-case
// already (RFC 9110 §5.1).
func equalFold(a, b string) bool { return len(a) == len(b) && (a == b || foldsTo(a, b)) }

// foldsTo is equalFold for names of the same length.
func foldsTo(a, b string) bool {
	for i := range len(a) {
		if a[i] != b[i] && lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}
