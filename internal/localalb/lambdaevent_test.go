package localalb

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEventGoldens sends the bytes of a request and compares the bytes of the
// event, in both modes. Trace ids are random and replaced by TRACE.
func TestEventGoldens(t *testing.T) {
	const host = "Host: app.example.com\r\n"
	for _, tc := range []struct{ name, file, request string }{
		{"a plain GET has empty maps and an empty body", "plain", "GET / HTTP/1.1\r\n" + host + "\r\n"},
		{"path and query stay encoded", "encoded", "GET /a%2Fb//c/../%C2%A5?k%5B%5D=red%2C+green&k[]=x!&m=%zz&=v&q==&t=a;b HTTP/1.1\r\n" + host + "\r\n"},
		{"repeated keys keep their order, empty pairs vanish", "repeated-query", "GET /p?&b=1&&a=2&b=3&c&d= HTTP/1.1\r\n" + host + "\r\n"},
		{"repeated headers keep their order, commas stay", "repeated-headers", "GET / HTTP/1.1\r\n" + host + "Cookie: a=1\r\nX-List: veg,pea\r\ncookie: b=2\r\nX-LIST: veg,celery\r\n\r\n"},
		{"headers without a value are dropped", "empty-headers", "GET / HTTP/1.1\r\n" + host + "X-Empty:\r\nX-Blank:   \r\nX-Mixed: one\r\nX-Mixed:\r\n\r\n"},
		{"a JSON body stays text", "json", "POST /p HTTP/1.1\r\n" + host + "Content-Type: application/json; charset=utf-8\r\nContent-Length: 13\r\n\r\n{\"a\":\"<&é\"}\n"},
		{"a form is base64", "form", "POST /p HTTP/1.1\r\n" + host + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 7\r\n\r\na=1&b=2"},
		{"compressed text is base64", "compressed", "POST /p HTTP/1.1\r\n" + host + "Content-Type: text/plain\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08"},
		{"a chunked body of no type is base64", "chunked", "PUT /p HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
		{"a GET may have a body", "get-body", "GET /p HTTP/1.1\r\n" + host + "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi"},
		{"addresses of the client come first, other X-Forwarded headers are kept", "forwarded", "GET / HTTP/1.1\r\n" + host + "X-Forwarded-For: 192.0.2.1, 192.0.2.2\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Port: 8443\r\nX-Forwarded-Host: evil.example\r\nForwarded: for=192.0.2.9\r\n\r\n"},
		{"the root of a trace is kept", "trace", "GET / HTTP/1.1\r\n" + host + "X-Amzn-Trace-Id: Root=1-67891233-abcdef012345678912345678;App=x\r\n\r\n"},
		{"an absolute target gives host and path", "absolute", "GET http://dns.example.com/p?a=1 HTTP/1.1\r\n" + host + "\r\n"},
		{"OPTIONS * has the path *", "asterisk", "OPTIONS * HTTP/1.1\r\n" + host + "\r\n"},
		{"HTTP/1.0 without Host gets the name of the load balancer", "http10", "GET /p HTTP/1.0\r\n\r\n"},
		{"the h2c upgrade of Java is passed on", "h2c", "GET / HTTP/1.1\r\n" + host + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n\r\n"},
	} {
		for mode, multi := range map[string]bool{"single": false, "multi": true} {
			t.Run(tc.name+", "+mode, func(t *testing.T) {
				want, err := os.ReadFile(filepath.Join("testdata", "events", tc.file+"."+mode+".json"))
				require.NoError(t, err)
				assert.Equal(t, strings.TrimSpace(string(want)), eventOf(t, Config{Port: 80}, multi, tc.request))
			})
		}
	}
}

// eventOf returns the event that a request becomes.
func eventOf(t *testing.T, cfg Config, multi bool, request string) string {
	t.Helper()
	events := make(chan []byte, 1)
	cfg.DNSName = "lb.example.com"
	f := serveFunction(t, cfg, LambdaGroup{MultiValueHeaders: multi, Function: function(func(p []byte) ([]byte, error) {
		events <- p
		return []byte(`{"statusCode":204}`), nil
	})})
	res, _, _ := f.raw(request)
	require.Equal(t, 204, res.StatusCode)
	fresh := regexp.MustCompile(`(^|")(Root|Self)=1-[0-9a-f]{8}-[0-9a-f]{24}`)
	return fresh.ReplaceAllString(string(receive(t, events)), "$1$2=TRACE")
}

func TestHeadersOfEvents(t *testing.T) {
	for _, tc := range []struct {
		name    string
		cfg     Config
		headers string // of the request, after GET /
		key     string
		want    string // "" for absent
	}{
		{"a default port is cut", Config{Port: 80}, "Host: a.example:80\r\n", "host", "a.example"},
		{"the other default port is cut too", Config{Port: 443}, "Host: a.example:443\r\n", "host", "a.example"},
		{"another port is kept on a default listener", Config{Port: 80}, "Host: a.example:81\r\n", "host", "a.example:81"},
		{"the port of another listener is added", Config{Port: 8080}, "Host: a.example\r\n", "host", "a.example:8080"},
		{"a port that is there is not added", Config{Port: 8080}, "Host: a.example:8080\r\n", "host", "a.example:8080"},
		{"a bracketed address gets a port", Config{Port: 8080}, "Host: [::1]\r\n", "host", "[::1]:8080"},
		{"a preserved host is untouched", Config{Port: 8080, PreserveHost: true}, "Host: a.example\r\n", "host", "a.example"},
		{"the port is the listener's", Config{Port: 8443}, "Host: a\r\nX-Forwarded-Port: 1\r\n", "x-forwarded-port", "8443"},
		{"the protocol is the listener's", Config{}, "Host: a\r\nX-Forwarded-Proto: https\r\n", "x-forwarded-proto", "http"},
		{"the peer is appended", Config{}, "Host: a\r\nX-Forwarded-For: 192.0.2.1\r\n", "x-forwarded-for", "192.0.2.1, 127.0.0.1"},
		{"two lists are joined", Config{}, "Host: a\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-For: 192.0.2.2\r\n", "x-forwarded-for", "192.0.2.1, 192.0.2.2, 127.0.0.1"},
		{"preserve leaves the list", Config{XFF: XFFPreserve}, "Host: a\r\nX-Forwarded-For: 192.0.2.1\r\n", "x-forwarded-for", "192.0.2.1"},
		{"preserve adds none", Config{XFF: XFFPreserve}, "Host: a\r\n", "x-forwarded-for", ""},
		{"remove drops the list", Config{XFF: XFFRemove}, "Host: a\r\nX-Forwarded-For: 192.0.2.1\r\n", "x-forwarded-for", ""},
		{"an empty header is kept on demand", Config{KeepEmptyHeaders: true}, "Host: a\r\nX-Mixed: one\r\nX-Mixed:\r\n", "x-mixed", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var e struct{ Headers map[string]string }
			require.NoError(t, json.Unmarshal([]byte(eventOf(t, tc.cfg, false, "GET / HTTP/1.1\r\n"+tc.headers+"\r\n")), &e))
			got, there := e.Headers[tc.key]
			assert.Equal(t, tc.want, got)
			assert.Equal(t, tc.want != "" || tc.cfg.KeepEmptyHeaders, there)
		})
	}
}

func TestClientPortIsAppendedOnDemand(t *testing.T) {
	event := eventOf(t, Config{XFFClientPort: true}, false, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	assert.Regexp(t, `"x-forwarded-for":"127\.0\.0\.1:[0-9]+"`, event)
}

func TestTraceID(t *testing.T) {
	const fresh = "1-00000000-000000000000000000000000"
	for _, tc := range []struct{ name, received, want string }{
		{"none", "", "Root=" + fresh},
		{"a root", "Root=1-2-3", "Self=" + fresh + ";Root=1-2-3"},
		{"a root and an old self", "Self=1-9-9;Root=1-2-3;A=b", "Self=" + fresh + ";Root=1-2-3;A=b"},
		{"no root", "A=b", "Root=" + fresh + ";A=b"},
		{"exactly 7 KiB", "Root=" + strings.Repeat("x", 7<<10-5), "Self=" + fresh + ";Root=" + strings.Repeat("x", 7<<10-5)},
		{"over 7 KiB", "Root=" + strings.Repeat("x", 7<<10-4), "Root=" + fresh},
	} {
		t.Run(tc.name, func(t *testing.T) { assert.Equal(t, tc.want, traceID(tc.received, fresh)) })
	}
}

func TestBodiesThatAreText(t *testing.T) {
	for _, tc := range []struct {
		kind, encoding string
		text           bool
	}{
		{"text/plain", "", true},
		{"TEXT/HTML; charset=utf-8", "", true},
		{"application/json", "", true},
		{"application/javascript", "", true},
		{"application/xml;q=1", "", true},
		{"text/plain", "identity", false},
		{"application/json-patch+json", "", false},
		{"application/vnd.api+json", "", false},
		{"multipart/form-data; boundary=x", "", false},
		{"textual/plain", "", false},
		{"", "", false},
	} {
		t.Run(tc.kind+" "+tc.encoding, func(t *testing.T) {
			h := map[string][]string{"Content-Type": {tc.kind}, "Content-Encoding": {tc.encoding}}
			assert.Equal(t, tc.text, isText(h))
		})
	}
}

func TestHealthEvents(t *testing.T) {
	const arn = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/f/0123456789abcdef"
	context := `{"requestContext":{"elb":{"targetGroupArn":"` + arn + `"}},"httpMethod":"GET","path":"/_health",`
	for _, tc := range []struct {
		name  string
		multi bool
		path  string
		want  string
	}{
		{"as documented", false, "/_health", `"queryStringParameters":{},"headers":{"user-agent":"ELB-HealthChecker/2.0"},`},
		{"multi-value", true, "/_health", `"multiValueQueryStringParameters":{},"multiValueHeaders":{"user-agent":["ELB-HealthChecker/2.0"]},`},
		{"with a query", false, "/_health?deep", `"queryStringParameters":{"deep":""},"headers":{"user-agent":"ELB-HealthChecker/2.0"},`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := healthEvent(arn, tc.multi, tc.path)
			require.NoError(t, err)
			assert.Equal(t, context+tc.want+`"body":"","isBase64Encoded":false}`, string(got))
		})
	}
}
