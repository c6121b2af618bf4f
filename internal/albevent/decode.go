package albevent

import (
	"strings"

	"github.com/detourhq/detour/pkg/redirect"
)

// commonFields is how many header fields are made room for at once; a browser
// sends about twenty through a load balancer.
const commonFields = 24

// Decode returns the request that the load balancer's event raw stands for, and
// the mode to answer it in. The request does not refer to raw.
//
// Path, query and header fields are the bytes that the load balancer passed on,
// nothing decoded but JSON's own escapes. The query is made of key=value pairs
// in the order of the event; a key without a value reads "key=", as the event
// does not tell the two apart. The body is not read.
//
// Load balancers send one family of fields. Of an event with both, the fields
// that hold something are read; where both do, the multi-value ones, which leave
// nothing out. The mode is that of the fuller headers field, where filled counts
// more than empty and empty more than missing; between equals, that of the
// fuller query field; else Single.
//
// What is missing, null or unknown is no error: fields are empty, and an object
// without any gives the zero Request. In headers and query a number or boolean
// counts as its text, null as the empty string, a string among lists as a list
// of one, a list among strings as all its values; objects in there and lists in
// lists are left out. Of a repeated member of the event the last one counts;
// repeated names within headers or query are all kept.
//
// The error wraps ErrMalformed and says at which byte raw is not JSON, ends too
// early, or nests deeper than 10,000 levels. No other error comes back.
func Decode(raw []byte) (redirect.Request, Mode, error) {
	e := event{scanner: scanner{raw: raw}}
	e.decode()
	if e.err != nil {
		return redirect.Request{}, Single, e.err
	}
	req := e.request
	req.Query, req.Header = e.multi.query, e.multi.header
	if e.single.queryIs > e.multi.queryIs {
		req.Query = e.single.query
	}
	if e.single.headerIs > e.multi.headerIs {
		req.Header = e.single.header
	}
	return req, e.mode(), nil
}

// event is an event on its way to become a request.
type event struct {
	scanner
	request       redirect.Request
	single, multi family
}

// family is what one mode's fields hold.
type family struct {
	header   redirect.Header
	headerIs presence
	query    string
	queryIs  presence
}

// presence is how much there is of a field.
type presence int

const (
	missing presence = iota // or null, or no object
	empty
	filled
)

func (e *event) decode() {
	if e.peek() != '{' {
		e.fail()
		return
	}
	for more := e.first('}'); more; more = e.next('}') {
		switch string(e.name()) {
		case "requestContext":
			e.request.TargetGroup = e.find("elb", "targetGroupArn")
		case "httpMethod":
			e.request.Method = e.scalar()
		case "path":
			e.request.Path = e.scalar()
		case "queryStringParameters":
			e.single.query, e.single.queryIs = e.query()
		case "multiValueQueryStringParameters":
			e.multi.query, e.multi.queryIs = e.query()
		case "headers":
			e.single.header, e.single.headerIs = e.header()
		case "multiValueHeaders":
			e.multi.header, e.multi.headerIs = e.header()
		default:
			e.skip()
		}
	}
	if e.peek(); e.pos < len(e.raw) {
		e.fail()
	}
}

func (e *event) mode() Mode {
	single, multi := e.single.headerIs, e.multi.headerIs
	if single == multi {
		single, multi = e.single.queryIs, e.multi.queryIs
	}
	if multi > single {
		return Multi
	}
	return Single
}

// find passes over the value at hand and returns the scalar in it that the
// member names of path lead to, empty if there is none.
func (e *event) find(path ...string) string {
	if len(path) == 0 {
		return e.scalar()
	}
	if e.peek() != '{' {
		e.skip()
		return ""
	}
	found := ""
	for more := e.first('}'); more; more = e.next('}') {
		if string(e.name()) == path[0] {
			found = e.find(path[1:]...)
		} else {
			e.skip()
		}
	}
	return found
}

func (e *event) header() (redirect.Header, presence) {
	if e.peek() != '{' {
		e.skip()
		return nil, missing
	}
	h := e.fields(make(redirect.Header, 0, commonFields))
	if len(h) == 0 {
		return nil, empty
	}
	return h, filled
}

func (e *event) query() (string, presence) {
	if e.peek() != '{' {
		e.skip()
		return "", missing
	}
	var room [16]redirect.Field
	pairs := e.fields(room[:0])
	if len(pairs) == 0 {
		return "", empty
	}
	size := 0
	for i := range pairs {
		size += len(pairs[i].Name) + len("=") + len(pairs[i].Value) + len("&")
	}
	var b strings.Builder
	b.Grow(size)
	for i := range pairs {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(pairs[i].Name)
		b.WriteByte('=')
		b.WriteString(pairs[i].Value)
	}
	return b.String(), filled
}

// fields appends the object at hand to list, one field per value.
func (e *event) fields(list []redirect.Field) []redirect.Field {
	for more := e.first('}'); more; more = e.next('}') {
		name := e.str()
		e.colon()
		if e.peek() != '[' {
			list = e.field(list, name)
			continue
		}
		for more := e.first(']'); more; more = e.next(']') {
			list = e.field(list, name)
		}
	}
	return list
}

// field appends the value at hand to list, unless it is an object or array.
func (e *event) field(list []redirect.Field, name string) []redirect.Field {
	if c := e.peek(); c == '{' || c == '[' {
		e.skip()
		return list
	}
	return append(list, redirect.Field{Name: name, Value: e.scalar()})
}
