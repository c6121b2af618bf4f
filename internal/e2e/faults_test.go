package e2e

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/localalb"
	"github.com/detourhq/detour/pkg/cluster"
)

// forger gives the function an event of its own instead of the load balancer's.
type forger struct {
	to    localalb.Invoker
	event atomic.Pointer[string]
}

func (f *forger) Invoke(ctx context.Context, _ []byte) ([]byte, error) {
	return f.to.Invoke(ctx, []byte(*f.event.Load()))
}

// event is an event of the single-value mode; its arguments are the inside of
// JSON strings and further header members.
func event(method, path, query, headers string) string {
	return `{"requestContext":{"elb":{"targetGroupArn":"arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/detour/1"}},` +
		`"httpMethod":"` + method + `","path":"` + path + `","queryStringParameters":{"q":"` + query + `"},` +
		`"headers":{"host":"app.example.com","x-forwarded-for":"192.0.2.1"` + headers + `},"body":"","isBase64Encoded":false}`
}

// Whatever the event, the load balancer takes the answer: it never makes a 502
// of it. Where it leads anywhere, it leads to the only node there is.
func TestEveryEventGetsAValidAnswer(t *testing.T) {
	const multi = `{"httpMethod":"GET","path":"/","multiValueQueryStringParameters":{},` +
		`"multiValueHeaders":{"host":["app.example.com"],"x-forwarded-for":["192.0.2.1"]},"body":"","isBase64Encoded":false}`
	rows := map[string]struct {
		event    string
		status   int
		location string // its beginning, after the endpoint; asked of redirects in single-value mode
	}{
		"an event of its own mode":           {event("GET", "/a%2Fb", "1", ""), 307, "/a%2Fb?q=1&detour=1."},
		"an event of the other mode":         {multi, 307, ""},
		"nothing":                            {"", 400, ""},
		"garbage":                            {"\x00\xff garbage", 400, ""},
		"null":                               {"null", 400, ""},
		"a list":                             {"[]", 400, ""},
		"an empty object":                    {"{}", 307, "/?detour=1."},
		"half an event":                      {event("GET", "/", "1", "")[:100], 400, ""},
		"an event that nests too deep":       {`{"x":` + strings.Repeat("[", 20_000), 400, ""},
		"fields of the wrong types":          {`{"httpMethod":[],"path":{"a":1},"headers":"no","queryStringParameters":7}`, 307, "/?detour=1."},
		"a path of 16 KB":                    {event("GET", "/"+strings.Repeat("p", 16<<10), "1", ""), 414, ""},
		"a query of 16 KB":                   {event("GET", "/", strings.Repeat("q", 16<<10), ""), 414, ""},
		"a path that triples":                {event("GET", "/"+strings.Repeat("|", 4<<10), "1", ""), 414, ""},
		"a path of almost 8 KB":              {event("GET", "/"+strings.Repeat("p", 8000), "1", ""), 307, "/" + strings.Repeat("p", 8000) + "?q=1&detour=1."},
		"bytes that are not UTF-8":           {event("GET", "/\xff", "\xc3(", ""), 307, ""},
		"half a surrogate pair":              {event("GET", `/\ud800`, `\udc00`, ""), 307, ""},
		"an escape without its digits":       {event("GET", "/%zz", "50%", ""), 307, "/%25zz?q=50%25&detour=1."},
		"a control byte in the path":         {event("GET", `/a\u0000b`, "1", ""), 400, ""},
		"a line break in the path":           {event("GET", `/\r\nSet-Cookie: a=b`, "1", ""), 400, ""},
		"a line break in the query":          {event("GET", "/", `\r\nSet-Cookie: a=b`, ""), 400, ""},
		"a path that is none":                {event("GET", "@evil.example/", "1", ""), 400, ""},
		"two slashes and a host":             {event("GET", "//evil.example/", "1", ""), 307, "//evil.example/?q=1&detour=1."},
		"a backslash and a host":             {event("GET", `/\\evil.example`, "1", ""), 307, "/%5Cevil.example?q=1&detour=1."},
		"line breaks in headers":             {event("GET", "/", "1", `,"origin":"https://a\r\nx: y","accept":"\r\n"`), 307, "/?q=1&detour=1."},
		"large headers that are sent back":   {event("GET", "/", "1", `,"x-aspectran-visited-nodes":"`+strings.Repeat("n,", 50_000)+`"`), 307, "/?q=1&detour=1."},
		"a foreign host in forwarded fields": {event("GET", "/", "1", `,"x-forwarded-host":"evil.example","x-forwarded-path":"//evil.example"`), 307, "/?q=1&detour=1."},
		"a method that nobody redirects":     {event("TRACE", "/", "1", ""), 405, ""},
		"a method that nobody knows":         {event("b\\r\\nad", "/", "1", ""), 307, "/?q=1&detour=1."},
	}
	const endpoint = "http://green.example.com"
	w := newWorld(t, 1, nil)
	w.register(t, "g1", "green", endpoint)
	w.pause(t, cluster.GroupTarget("blue"))
	f := &forger{to: w.function}
	w.route(t, "/forged/multi", 2, "multi", localalb.LambdaGroup{Function: f, MultiValueHeaders: true})
	w.route(t, "/forged/single", 3, "single", localalb.LambdaGroup{Function: f})
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			f.event.Store(&row.event)
			resp, took := w.ask(t, "/forged/multi")
			assert.Equal(t, row.status, resp.StatusCode)
			resp, again := w.ask(t, "/forged/single")
			assert.Equal(t, row.status, resp.StatusCode)
			assert.Less(t, min(took, again), budget)
			assert.Empty(t, resp.Header.Values("Set-Cookie"))
			if location := resp.Header.Get("Location"); location != "" {
				u, err := url.Parse(location)
				require.NoError(t, err)
				assert.Equal(t, endpoint, u.Scheme+"://"+u.Host)
				assert.True(t, strings.HasPrefix(location, endpoint+row.location), location)
			}
		})
	}
	assert.Equal(t, 1, w.function.Stats().ColdStarts, "the copy that answered the first answered all")
}

// ask is get, and tells how long it took.
func (w *world) ask(t *testing.T, path string) (*http.Response, time.Duration) {
	t.Helper()
	began := time.Now()
	resp, err := w.get(t.Context(), path)
	require.NoError(t, err)
	return resp, time.Since(began)
}

// A function whose configuration is wrong starts all the same and says what is.
func TestAFaultyConfigurationIsNamedAndAnswered(t *testing.T) {
	faults := map[string]string{
		"DETOUR_CLUSTER":       "not an id",
		"DETOUR_REDIS_URL":     "ftp://127.0.0.1",
		"DETOUR_POLICY":        "best",
		"DETOUR_PULSE_TIMEOUT": "soon",
		"DETOUR_MAX_REDIRECTS": "0",
	}
	w := newWorld(t, 1, faults)
	w.register(t, "g1", "green", "http://green.example.com")
	for _, path := range []string{"/", "/single/", "/_health?deep"} {
		resp, _ := w.ask(t, path)
		assert.Equal(t, http.StatusServiceUnavailable, resp.StatusCode, path)
	}
	resp, _ := w.ask(t, "/")
	assert.NotEmpty(t, resp.Header.Get("Retry-After"))
	for name := range faults {
		assert.Contains(t, w.log.String(), name)
	}
}
