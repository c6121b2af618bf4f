package albevent_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/detourhq/detour/internal/albevent"
	"github.com/detourhq/detour/pkg/redirect"
)

// object is a JSON object with its members in order; lists are []any.
type object []member

type member struct {
	name  string
	value any
}

// get returns the last member called name, nil if there is none.
func (o object) get(name string) any {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].name == name {
			return o[i].value
		}
	}
	return nil
}

// parse returns raw, which is valid, as the standard library reads it.
func parse(raw []byte) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return value(dec)
}

func value(dec *json.Decoder) any {
	switch first := token(dec); first {
	case json.Delim('{'):
		o := object{}
		for dec.More() {
			name, _ := token(dec).(string)
			o = append(o, member{name, value(dec)})
		}
		token(dec)
		return o
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			list = append(list, value(dec))
		}
		token(dec)
		return list
	default:
		return first
	}
}

func token(dec *json.Decoder) json.Token {
	t, err := dec.Token()
	if err != nil {
		panic(err) // not valid, after all
	}
	return t
}

// reference does what Decode has to do, on a tree.
func reference(event object) (redirect.Request, albevent.Mode) {
	context, _ := event.get("requestContext").(object)
	elb, _ := context.get("elb").(object)
	headers, headersLead := fuller(event, "headers", "multiValueHeaders")
	query, queryLead := fuller(event, "queryStringParameters", "multiValueQueryStringParameters")
	mode := albevent.Single
	if headersLead > 0 || headersLead == 0 && queryLead > 0 {
		mode = albevent.Multi
	}
	var pairs []string
	for _, f := range query {
		pairs = append(pairs, f.Name+"="+f.Value)
	}
	return redirect.Request{
		Method:      text(event.get("httpMethod")),
		Path:        text(event.get("path")),
		Query:       strings.Join(pairs, "&"),
		Header:      headers,
		TargetGroup: text(elb.get("targetGroupArn")),
	}, mode
}

// fuller returns what the fuller of two members holds, and a number above 0 if
// that is multi, below if it is single.
func fuller(event object, single, multi string) (redirect.Header, int) {
	rank := func(name string) (redirect.Header, int) {
		o, ok := event.get(name).(object)
		switch h := fields(o); {
		case len(h) > 0:
			return h, 2
		case ok:
			return nil, 1
		}
		return nil, 0
	}
	one, oneRank := rank(single)
	all, allRank := rank(multi)
	if oneRank > allRank {
		return one, -1
	}
	return all, allRank - oneRank
}

func fields(o object) redirect.Header {
	var h redirect.Header
	for _, m := range o {
		values, isList := m.value.([]any)
		if !isList {
			values = []any{m.value}
		}
		for _, v := range values {
			switch v.(type) {
			case object, []any:
			default:
				h = append(h, redirect.Field{Name: m.name, Value: text(v)})
			}
		}
	}
	return h
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// lossy returns req as the standard library would have it: bytes that are not
// UTF-8 are U+FFFD each.
func lossy(req redirect.Request) redirect.Request {
	fix := func(s string) string { return string([]rune(s)) }
	var h redirect.Header
	for _, f := range req.Header {
		h = append(h, redirect.Field{Name: fix(f.Name), Value: fix(f.Value)})
	}
	return redirect.Request{
		Method:      fix(req.Method),
		Path:        fix(req.Path),
		Query:       fix(req.Query),
		Header:      h,
		TargetGroup: fix(req.TargetGroup),
	}
}
