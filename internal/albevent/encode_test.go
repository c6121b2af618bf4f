package albevent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/albevent"
	"github.com/detourhq/detour/pkg/redirect"
)

func TestEncodeGivesTheWholeAnswer(t *testing.T) {
	location := redirect.Field{Name: "Location", Value: "https://n2.example.com/a%2Fb?q=<a>&r=\"\\"}
	retry := redirect.Header{{Name: "Retry-After", Value: "5"}, {Name: "Content-Type", Value: "text/html"}}
	for _, tt := range []struct {
		name   string
		answer redirect.Answer
		mode   albevent.Mode
		want   string
	}{
		{"one family: single (CodeGenieApp/serverless-express#435, aws/serverless-java-container#347)", redirect.Answer{Status: 307, Header: redirect.Header{location}}, albevent.Single, `{"statusCode":307,"statusDescription":"307 Temporary Redirect","isBase64Encoded":false,"headers":{"Location":"https://n2.example.com/a%2Fb?q=<a>&r=\"\\"}}`},
		{"one family: multi (aws/aws-lambda-go#529)", redirect.Answer{Status: 307, Header: redirect.Header{location}}, albevent.Multi, `{"statusCode":307,"statusDescription":"307 Temporary Redirect","isBase64Encoded":false,"multiValueHeaders":{"Location":["https://n2.example.com/a%2Fb?q=<a>&r=\"\\"]}}`},
		{"a body is never base64 (aws/serverless-java-container#339)", redirect.Answer{Status: 503, Header: retry, Body: "<p>\"Später\"\r\n"}, albevent.Single, `{"statusCode":503,"statusDescription":"503 Service Unavailable","isBase64Encoded":false,"headers":{"Retry-After":"5","Content-Type":"text/html"},"body":"<p>\"Später\"\r\n"}`},
		{"no header is no null: multi (aws/aws-lambda-go#207)", redirect.Answer{Status: 200, Body: "{}"}, albevent.Multi, `{"statusCode":200,"statusDescription":"200 OK","isBase64Encoded":false,"multiValueHeaders":{},"body":"{}"}`},
		{"no header is no null: single (awslabs/aws-lambda-go-api-proxy#79)", redirect.Answer{Status: 204}, albevent.Single, `{"statusCode":204,"statusDescription":"204 No Content","isBase64Encoded":false,"headers":{}}`},
		{"an empty body is left out (kdgregory/example-lambda-java#11, aws/aws-lambda-go#408)", redirect.Answer{Status: 405}, albevent.Single, `{"statusCode":405,"statusDescription":"405 Method Not Allowed","isBase64Encoded":false,"headers":{}}`},
		{"a status without a name", redirect.Answer{Status: 299}, albevent.Single, `{"statusCode":299,"statusDescription":"299 Unknown","isBase64Encoded":false,"headers":{}}`},
		{"the zero answer", redirect.Answer{}, albevent.Single, `{"statusCode":0,"statusDescription":"0 Unknown","isBase64Encoded":false,"headers":{}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, string(albevent.Encode(tt.answer, tt.mode)))
		})
	}
}

func TestEncodeWritesEachNameOnce(t *testing.T) {
	field := func(name, value string) redirect.Field { return redirect.Field{Name: name, Value: value} }
	for _, tt := range []struct {
		name          string
		header        redirect.Header
		single, multi string
	}{
		{"repeated values keep their order", redirect.Header{field("Vary", "Origin"), field("A", "1"), field("Vary", "Accept")}, `{"Vary":"Origin, Accept","A":"1"}`, `{"Vary":["Origin","Accept"],"A":["1"]}`},
		{"names that differ in case are one", redirect.Header{field("Vary", "Origin"), field("vary", "Accept"), field("VARY", "Cookie")}, `{"Vary":"Origin, Accept, Cookie"}`, `{"Vary":["Origin","Accept","Cookie"]}`},
		{"one cookie keeps the name", redirect.Header{field("set-cookie", "a=1")}, `{"Set-Cookie":"a=1"}`, `{"set-cookie":["a=1"]}`},
		{"each cookie has a spelling (Kludex/mangum#185, localstack/localstack#12633)", redirect.Header{field("Set-Cookie", "a=1"), field("A", "1"), field("set-cookie", "b=2"), field("Set-Cookie", "c=3"), field("Set-Cookie", "d=4")}, `{"Set-Cookie":"a=1","set-Cookie":"b=2","SEt-Cookie":"c=3","sEt-Cookie":"d=4","A":"1"}`, `{"Set-Cookie":["a=1","b=2","c=3","d=4"],"A":["1"]}`},
		{"an empty value stays", redirect.Header{field("A", "")}, `{"A":""}`, `{"A":[""]}`},
		{"tab and quotes are escaped", redirect.Header{field("Etag", "W/\"a\\\tb\"")}, `{"Etag":"W/\"a\\\tb\""}`, `{"Etag":["W/\"a\\\tb\""]}`},
		{"a line break in a value", redirect.Header{field("Location", "/\r\nSet-Cookie: a=1"), field("A", "1")}, `{"A":"1"}`, `{"A":["1"]}`},
		{"NUL, DEL and bytes beyond ASCII in a value", redirect.Header{field("A", "\x00"), field("B", "\x7f"), field("C", "é"), field("D", "\xff"), field("E", "\x1f"), field("F", " ~")}, `{"F":" ~"}`, `{"F":[" ~"]}`},
		{"no token for a name", redirect.Header{field("", "1"), field("A B", "2"), field("A:", "3"), field("Ä", "4"), field("A\"", "5"), field("A!#$%&'*+-.^_`|~0z", "6")}, "{\"A!#$%&'*+-.^_`|~0z\":\"6\"}", "{\"A!#$%&'*+-.^_`|~0z\":[\"6\"]}"},
		{"a left out field does not hide the next", redirect.Header{field("Location", "\n"), field("Location", "/1"), field("Location", "\n"), field("location", "/2")}, `{"Location":"/1, /2"}`, `{"Location":["/1","/2"]}`},
		{"all left out", redirect.Header{field("A", "\n")}, `{}`, `{}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer := redirect.Answer{Status: 200, Header: tt.header}
			assert.Contains(t, string(albevent.Encode(answer, albevent.Single)), `"headers":`+tt.single+`}`)
			assert.Contains(t, string(albevent.Encode(answer, albevent.Multi)), `"multiValueHeaders":`+tt.multi+`}`)
		})
	}
}

func TestEncodeHasASpellingForManyCookies(t *testing.T) {
	for _, n := range []int{511, 512, 513} {
		a := redirect.Answer{Status: 200}
		for i := range n {
			a.Header = append(a.Header, redirect.Field{Name: "Set-Cookie", Value: fmt.Sprint("c=", i)})
		}
		var single, multi events.ALBTargetGroupResponse
		require.NoError(t, json.Unmarshal(albevent.Encode(a, albevent.Single), &single))
		require.NoError(t, json.Unmarshal(albevent.Encode(a, albevent.Multi), &multi))
		assert.Len(t, single.Headers, min(n, 512))
		assert.Equal(t, "c=0", single.Headers["Set-Cookie"], "the first spelling is not used again")
		assert.Len(t, multi.MultiValueHeaders["Set-Cookie"], n)
		for name := range single.Headers {
			require.True(t, strings.EqualFold(name, "Set-Cookie"), name)
		}
	}
}

func TestEncodeEscapesTheBody(t *testing.T) {
	for _, body := range []string{
		"\"\\/\b\f\n\r\t\x00\x1f\x7f", "<script>&amp;", "é€😀\u2028\u2029\ufffd", "\xff", "a\xc3", "\xed\xa0\x80", "\xf0\x9f\x98", strings.Repeat("\x01", 10_000),
	} {
		var got events.ALBTargetGroupResponse
		require.NoError(t, json.Unmarshal(albevent.Encode(redirect.Answer{Status: 200, Body: body}, albevent.Single), &got))
		assert.Equal(t, string([]rune(body)), got.Body)
	}
}

func TestEncodeAllocatesOnce(t *testing.T) {
	assert.EqualValues(t, 1, testing.AllocsPerRun(100, func() { albevent.Encode(benchAnswer, albevent.Multi) }))
}
