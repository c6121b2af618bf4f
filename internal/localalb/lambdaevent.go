package localalb

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"unicode/utf8"
)

// event is what a function gets, its fields in the order that ALB sends them.
// Of each pair of maps one is set and the other absent; a set map is never
// null, and its keys are sorted.
type event struct {
	Context struct {
		ELB struct {
			TargetGroupARN string `json:"targetGroupArn"`
		} `json:"elb"`
	} `json:"requestContext"`
	Method       string              `json:"httpMethod"`
	Path         string              `json:"path"`
	Query        map[string]string   `json:"queryStringParameters,omitzero"`
	MultiQuery   map[string][]string `json:"multiValueQueryStringParameters,omitzero"`
	Headers      map[string]string   `json:"headers,omitzero"`
	MultiHeaders map[string][]string `json:"multiValueHeaders,omitzero"`
	Body         string              `json:"body"`
	Base64       bool                `json:"isBase64Encoded"`
}

// errNotUTF8 reports a request that no event can carry.
var errNotUTF8 = errors.New("not UTF-8")

// event returns the event for x. In multi-value mode repeated headers and
// query keys are all there, in order of arrival; else the last one wins. The
// error wraps errNotUTF8 and names the part of the request.
func (x *exchange) event(arn string, multi bool, body []byte) ([]byte, error) {
	e := event{Method: x.r.Method, Path: x.path}
	e.Context.ELB.TargetGroupARN = arn
	e.setQuery(x.query, multi)
	headers, err := x.eventHeaders()
	if err != nil {
		return nil, err
	}
	e.setHeaders(headers, multi)
	if !utf8.ValidString(x.path) || !utf8.ValidString(x.query) {
		return nil, fmt.Errorf("request target: %w", errNotUTF8)
	}
	switch {
	case len(body) == 0:
	case isText(x.r.Header):
		if !utf8.Valid(body) {
			return nil, fmt.Errorf("text body: %w", errNotUTF8)
		}
		e.Body = string(body)
	default:
		e.Body, e.Base64 = base64.StdEncoding.EncodeToString(body), true
	}
	return e.encode()
}

// eventHeaders returns the headers of the event under lower-case names.
// Connection is in events captured on AWS; of the other hop-by-hop headers
// nothing is known, so they stay too.
func (x *exchange) eventHeaders() (map[string][]string, error) {
	all := map[string][]string{"host": {x.host}}
	for name, values := range x.header {
		for _, v := range values {
			if !utf8.ValidString(v) {
				return nil, fmt.Errorf("header %s: %w", name, errNotUTF8)
			}
			if x.lb.cfg.KeepEmptyHeaders || strings.TrimSpace(v) != "" {
				key := strings.ToLower(name)
				all[key] = append(all[key], v)
			}
		}
	}
	return all, nil
}

func (e *event) setHeaders(all map[string][]string, multi bool) {
	if multi {
		e.MultiHeaders = all
		return
	}
	e.Headers = lastValues(all)
}

// setQuery splits a raw query. Nothing is decoded, and k is the same as k=.
func (e *event) setQuery(query string, multi bool) {
	all := map[string][]string{}
	for key, value := range queryPairs(query) {
		all[key] = append(all[key], value)
	}
	if multi {
		e.MultiQuery = all
		return
	}
	e.Query = lastValues(all)
}

func lastValues(all map[string][]string) map[string]string {
	last := make(map[string]string, len(all))
	for key, values := range all {
		last[key] = values[len(values)-1]
	}
	return last
}

// queryPairs yields the raw pairs of a query; && yields no empty pair.
func queryPairs(query string) iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		for pair := range strings.SplitSeq(query, "&") {
			if pair == "" {
				continue
			}
			if key, value, _ := strings.Cut(pair, "="); !yield(key, value) {
				return
			}
		}
	}
}

// isText reports whether ALB passes a body as it is rather than in base64.
// Types are compared whole: application/json-patch+json is not JSON here.
func isText(h http.Header) bool {
	if h.Get("Content-Encoding") != "" {
		return false
	}
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	switch kind = strings.ToLower(strings.TrimSpace(kind)); kind {
	case "application/json", "application/javascript", "application/xml":
		return true
	}
	return strings.HasPrefix(kind, "text/")
}

// encode returns e as JSON without HTML escapes.
func (e *event) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
