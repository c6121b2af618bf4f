package localalb

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInvalidAnswersAre502(t *testing.T) {
	for _, tc := range []struct {
		name   string
		multi  bool
		answer string
		detail string // part of Record.Detail
	}{
		{"nothing", false, ``, "unexpected end"},
		{"no JSON", false, `hello`, "invalid character"},
		{"something after the object", false, `{"statusCode":200}{}`, "after top-level value"},
		{"an array", false, `[{"statusCode":200}]`, "cannot unmarshal array"},
		{"only null", false, `null`, "null"},
		{"not UTF-8", false, "{\"statusCode\":200,\"body\":\"\xff\"}", "UTF-8"},
		{"no statusCode", false, `{"body":"x"}`, "no statusCode"},
		{"statusCode in another case", false, `{"StatusCode":200}`, "no statusCode"},
		{"statusCode as string", false, `{"statusCode":"200"}`, "statusCode"},
		{"statusCode as fraction", false, `{"statusCode":200.5}`, "statusCode"},
		{"statusCode 199", false, `{"statusCode":199}`, "199"},
		{"statusCode 600", false, `{"statusCode":600}`, "600"},
		{"statusCode null", false, `{"statusCode":null}`, "null"},
		{"body null", false, `{"statusCode":200,"body":null}`, "null"},
		{"headers null", false, `{"statusCode":200,"headers":null}`, "null"},
		{"statusDescription null", false, `{"statusCode":200,"statusDescription":null}`, "null"},
		{"isBase64Encoded null", false, `{"statusCode":200,"isBase64Encoded":null}`, "null"},
		{"headers of the other mode null", false, `{"statusCode":200,"headers":{},"multiValueHeaders":null}`, "null"},
		{"headers of the other mode null, multi", true, `{"statusCode":200,"headers":null,"multiValueHeaders":{}}`, "null"},
		{"a header null", false, `{"statusCode":200,"headers":{"A":null}}`, "null"},
		{"a repeated header null", true, `{"statusCode":200,"multiValueHeaders":{"A":["b",null]}}`, "null"},
		{"a header as number", false, `{"statusCode":200,"headers":{"Content-Length":9}}`, "headers"},
		{"a header as bool", false, `{"statusCode":200,"headers":{"A":true}}`, "headers"},
		{"a header as array in single mode", false, `{"statusCode":200,"headers":{"A":["b"]}}`, "headers"},
		{"a header as string in multi mode", true, `{"statusCode":200,"multiValueHeaders":{"A":"b"}}`, "multiValueHeaders"},
		{"a repeated header as number", true, `{"statusCode":200,"multiValueHeaders":{"A":[1]}}`, "multiValueHeaders"},
		{"headers as array", false, `{"statusCode":200,"headers":[]}`, "headers"},
		{"body as object", false, `{"statusCode":200,"body":{}}`, "body"},
		{"statusDescription as number", false, `{"statusCode":200,"statusDescription":200}`, "statusDescription"},
		{"isBase64Encoded as string", false, `{"statusCode":200,"isBase64Encoded":"true"}`, "isBase64Encoded"},
		{"base64 with a line break", false, `{"statusCode":200,"isBase64Encoded":true,"body":"YWJj\r\nYWJj"}`, "line break"},
		{"base64 without padding", false, `{"statusCode":200,"isBase64Encoded":true,"body":"YQ"}`, "illegal base64"},
		{"base64 with loose bits at its end", false, `{"statusCode":200,"isBase64Encoded":true,"body":"YR=="}`, "illegal base64"},
		{"base64 of the URL alphabet", false, `{"statusCode":200,"isBase64Encoded":true,"body":"__8="}`, "illegal base64"},
		{"LF in a header", false, `{"statusCode":200,"headers":{"A":"b\nSet-Cookie: c"}}`, "not valid"},
		{"CR in a header", true, `{"statusCode":200,"multiValueHeaders":{"A":["b\rc"]}}`, "not valid"},
		{"NUL in a header", false, `{"statusCode":200,"headers":{"A":"b\u0000"}}`, "not valid"},
		{"a header without a name", false, `{"statusCode":200,"headers":{"":"b"}}`, "not valid"},
		{"a space in a name", false, `{"statusCode":200,"headers":{"A b":"c"}}`, "not valid"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := serveFunction(t, Config{}, LambdaGroup{MultiValueHeaders: tc.multi, Function: says(tc.answer)})
			res, body := f.get("/")
			assert.Equal(t, 502, res.StatusCode)
			assert.Equal(t, page(502), body)
			rec := f.record()
			assert.Equal(t, ReasonInvalidResponse, rec.Reason)
			assert.Contains(t, rec.Detail, tc.detail)
			assert.Zero(t, rec.TargetStatus)
		})
	}
}

func TestLimitsOfAnswers(t *testing.T) {
	sized := func(total int) string { // an answer of exactly total bytes
		const frame = `{"statusCode":200,"body":""}`
		return strings.Replace(frame, `""`, `"`+strings.Repeat("x", total-len(frame))+`"`, 1)
	}
	headers := func(total int) string { // name, value and four bytes make total
		return `{"statusCode":200,"headers":{"A":"` + strings.Repeat("x", total-5) + `"}}`
	}
	for _, tc := range []struct {
		name, answer string
		status       int
	}{
		{"1 MiB of JSON", sized(1 << 20), 200},
		{"a byte more", sized(1<<20 + 1), 502},
		{"32 KiB of headers", headers(32 << 10), 200},
		{"a byte more of headers", headers(32<<10 + 1), 502},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := serveFunction(t, Config{}, LambdaGroup{Function: says(tc.answer)})
			res, _ := f.get("/")
			assert.Equal(t, tc.status, res.StatusCode)
			if rec := f.record(); tc.status == 502 {
				assert.Equal(t, ReasonResponseTooLarge, rec.Reason)
			}
		})
	}
}

func TestAnswersAsSentToTheClient(t *testing.T) {
	for _, tc := range []struct {
		name   string
		cfg    Config
		multi  bool
		method string
		answer string
		want   string // header lines but Date, in order, then the body
	}{
		{
			"a redirect",
			Config{},
			false, "GET",
			`{"statusCode":307,"statusDescription":"307 Temporary Redirect","headers":{"Location":"https://n2.example.com/a%2Fb","Content-Type":"text/plain"},"body":""}`,
			"HTTP/1.1 307 Temporary Redirect|Connection: keep-alive|Content-Length: 0|Content-Type: text/plain|Location: https://n2.example.com/a%2Fb|Server: awselb/2.0|",
		},
		{
			"only a status",
			Config{},
			false, "GET", `{"statusCode":200}`,
			"HTTP/1.1 200 OK|Connection: keep-alive|Content-Length: 0|Content-Type: application/octet-stream|Server: awselb/2.0|",
		},
		{
			"names keep their case and no second type is added",
			Config{},
			false, "GET",
			`{"statusCode":200,"headers":{"content-type":"text/css","x-aBc":"1"},"body":"<html>"}`,
			"HTTP/1.1 200 OK|Connection: keep-alive|Content-Length: 6|Server: awselb/2.0|content-type: text/css|x-aBc: 1|<html>",
		},
		{
			"two spellings are two lines",
			Config{},
			false, "GET",
			`{"statusCode":200,"headers":{"Set-Cookie":"a=1","set-cookie":"b=2","Content-Type":"text/css"}}`,
			"HTTP/1.1 200 OK|Connection: keep-alive|Content-Length: 0|Content-Type: text/css|Server: awselb/2.0|Set-Cookie: a=1|set-cookie: b=2|",
		},
		{
			"hop-by-hop and own headers are dropped",
			Config{},
			false, "GET",
			`{"statusCode":200,"headers":{"Connection":"close","transfer-encoding":"chunked","Keep-Alive":"1","TE":"x","Upgrade":"x","Trailer":"x","Content-Length":"99","Server":"me","Date":"x","Content-Type":"text/css"},"body":"abc"}`,
			"HTTP/1.1 200 OK|Connection: keep-alive|Content-Length: 3|Content-Type: text/css|Server: awselb/2.0|abc",
		},
		{
			"multi-value headers are reversed",
			Config{},
			true, "GET",
			`{"statusCode":200,"multiValueHeaders":{"Set-Cookie":["a","b","c"],"Content-Type":["text/css"]}}`,
			"HTTP/1.1 200 OK|Connection: keep-alive|Content-Length: 0|Content-Type: text/css|Server: awselb/2.0|Set-Cookie: c|Set-Cookie: b|Set-Cookie: a|",
		},
		{
			"multi-value headers in order on demand",
			Config{KeepRepeatedOrder: true},
			true, "GET",
			`{"statusCode":200,"multiValueHeaders":{"Set-Cookie":["a","b","c"],"Content-Type":["text/css"]}}`,
			"HTTP/1.1 200 OK|Connection: keep-alive|Content-Length: 0|Content-Type: text/css|Server: awselb/2.0|Set-Cookie: a|Set-Cookie: b|Set-Cookie: c|",
		},
		{
			"single mode ignores multiValueHeaders",
			Config{},
			false, "GET",
			`{"statusCode":307,"multiValueHeaders":{"Location":["/x"]}}`,
			"HTTP/1.1 307 Temporary Redirect|Connection: keep-alive|Content-Length: 0|Content-Type: application/octet-stream|Server: awselb/2.0|",
		},
		{
			"multi mode ignores headers, even invalid ones",
			Config{},
			true, "GET",
			`{"statusCode":307,"headers":{"Location":7}}`,
			"HTTP/1.1 307 Temporary Redirect|Connection: keep-alive|Content-Length: 0|Content-Type: application/octet-stream|Server: awselb/2.0|",
		},
		{
			"a base64 body is decoded",
			Config{},
			false, "GET",
			`{"statusCode":200,"isBase64Encoded":true,"body":"AAEC/w=="}`,
			"HTTP/1.1 200 OK|Connection: keep-alive|Content-Length: 4|Content-Type: application/octet-stream|Server: awselb/2.0|\x00\x01\x02\xff",
		},
		{
			"HEAD has the length but no body",
			Config{},
			false, "HEAD",
			`{"statusCode":200,"headers":{"Content-Type":"text/css"},"body":"abc"}`,
			"HTTP/1.1 200 OK|Connection: keep-alive|Content-Length: 3|Content-Type: text/css|Server: awselb/2.0|",
		},
		{
			"204 has neither",
			Config{},
			false, "GET",
			`{"statusCode":204,"headers":{"A":"b","Content-Type":"text/css"}}`,
			"HTTP/1.1 204 No Content|A: b|Connection: keep-alive|Content-Type: text/css|Server: awselb/2.0|",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := serveFunction(t, tc.cfg, LambdaGroup{MultiValueHeaders: tc.multi, Function: says(tc.answer)})
			_, body, head := f.raw(tc.method + " / HTTP/1.1\r\nHost: a\r\n\r\n")
			head = regexp.MustCompile(`Date: .* GMT\r\n|\r\nDate: .* GMT$`).ReplaceAllString(head, "")
			assert.Equal(t, tc.want, strings.ReplaceAll(head, "\r\n", "|")+"|"+body)
		})
	}
}

// FuzzAnswer holds parseAnswer to a second reading of the same JSON: whatever
// it accepts is of the documented shape.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"statusCode":307,"headers":{"Location":"https://n2.example.com/"},"multiValueHeaders":{"Location":["x"]},"body":""}`,
		`{"statusCode":200,"isBase64Encoded":true,"body":"AAEC/w=="}`,
		`{"statusCode":200,"headers":{"A":null}}`, `{"statusCode":2e2}`, `null`, ``,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, payload []byte, multi bool) {
		a, err := parseAnswer(payload, multi)
		if err != nil {
			return
		}
		require.True(t, utf8.Valid(payload))
		var v map[string]any
		require.NoError(t, json.Unmarshal(payload, &v))
		requireNoNull(t, v)
		require.InDelta(t, v["statusCode"], a.status, 0)
		if encoded, _ := v["isBase64Encoded"].(bool); encoded {
			require.Equal(t, orEmpty(v["body"]), base64.StdEncoding.EncodeToString(a.body))
		} else {
			require.Equal(t, orEmpty(v["body"]), string(a.body))
		}
		name := map[bool]string{false: "headers", true: "multiValueHeaders"}[multi]
		if headers, _ := v[name].(map[string]any); !multi {
			require.Len(t, a.header, len(headers))
		}
		for _, h := range a.header {
			require.NotContains(t, h.name, ":")
			require.False(t, strings.ContainsAny(h.name+h.value, "\r\n\x00"))
		}
	})
}

// orEmpty returns the string in v, or "" if it is absent.
func orEmpty(v any) string {
	if v == nil {
		return ""
	}
	return v.(string)
}

func requireNoNull(t *testing.T, v any) {
	switch v := v.(type) {
	case nil:
		require.Fail(t, "null accepted")
	case []any:
		for _, e := range v {
			requireNoNull(t, e)
		}
	case map[string]any:
		for _, e := range v {
			requireNoNull(t, e)
		}
	}
}
