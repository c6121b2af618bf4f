package redirect

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

const checker = "user-agent: ELB-HealthChecker/2.0"

func TestWhatNeedsNoRegistry(t *testing.T) {
	const origin, method = "origin: https://page.example", "access-control-request-method: PUT"
	for _, row := range []struct {
		name    string
		req     *Request
		status  int // 0 where the registry decides
		outcome Outcome
	}{
		{"a load balancer's health check", get("/any", checker), 200, Health},
		{"a health check without a header (aws/aws-lambda-rust-runtime#488, adamchainz/apig-wsgi#155)", get("/_health"), 200, Health},
		{"a client that calls itself a health checker", get("/any", checker, "x-forwarded-for: 192.0.2.7", "host: a.example.com"), 0, ""},
		{"a checker with a host alone", get("/any", checker, "host: a.example.com"), 0, ""},
		{"a checker with a client alone", get("/any", checker, "x-forwarded-for: 192.0.2.7"), 0, ""},
		{"a checker's name inside another", get("/any", "user-agent: Mozilla/5.0 ELB-HealthChecker/2.0"), 0, ""},
		{"the health page, asked by a client", get("/_health", "x-forwarded-for: 192.0.2.7", "host: a.example.com"), 200, Health},
		{"the health page, asked by HEAD", request("HEAD", "/_health"), 200, Health},
		{"a page below the health page", get("/_health/x"), 0, ""},
		{"a deep health check", get("/_health?deep"), 0, ""},
		{"a deep health check as a load balancer passes it on", get("/_health?a=b&deep="), 0, ""},
		{"a health check with another key", get("/_health?deeper=1&x=deep"), 200, Health},

		{"a preflight", request("OPTIONS", "/x", origin, method), 204, Preflight},
		{"a preflight of *", request("OPTIONS", "*", origin, method), 204, Preflight},
		{"an OPTIONS without a method to ask for", request("OPTIONS", "/x", origin), 0, ""},
		{"an OPTIONS without an origin", request("OPTIONS", "/x", method), 0, ""},
		{"a GET that looks like a preflight", get("/x", origin, method), 0, ""},

		{"OPTIONS *", request("OPTIONS", "*"), 400, Refused},
		{"TRACE", request("TRACE", "/x"), 405, Refused},
		{"CONNECT", request("CONNECT", "a.example.com:443"), 405, Refused},
		{"a method that nobody knows", request("PURGE", "/x"), 0, ""},
		{"an empty path", get(""), 0, ""},
		{"an absolute URL as path", get("http://evil.example/"), 400, Refused},
		{"userinfo as path", get("@evil.example"), 400, Refused},
		{"a domain's end as path (line/armeria#5532)", get(".evil.example"), 400, Refused},
		{"a port and userinfo as path", get(":80@evil.example"), 400, Refused},
		{"a backslash first", get(`\\evil.example`), 400, Refused},
		{"a line break in the path", get("/a\r\nSet-Cookie:x=y"), 400, Refused},
		{"a line feed in the query", get("/a?b\nc"), 400, Refused},
		{"a NUL", get("/a\x00"), 400, Refused},
		{"a tab (golang/go#40120)", get("/\t/evil.example"), 400, Refused},
		{"the last control character", get("/a\x7f"), 400, Refused},
		{"the last control character before the space", get("/a\x1f"), 400, Refused},
		{"a raw space", get("/a b"), 0, ""},
		{"encoded line breaks, which stay as they are", get("/%0D%0ASet-Cookie:x=y"), 0, ""},
		{"a WebSocket's upgrade", get("/x", "upgrade: websocket"), 0, ""},
		{"Java's offer of HTTP/2 (envoyproxy/envoy#7161, apache/trafficserver#3813)", get("/x", "upgrade: h2c"), 0, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			d, ok := redirector().Early(row.req)
			assert.Equal(t, row.status != 0, ok)
			assert.Equal(t, row.status, d.Status)
			assert.Equal(t, row.outcome, d.Outcome)
			assert.Equal(t, row.status == 405, d.Header.Get("Allow") != "")
			if ok {
				assert.Equal(t, "no-store", d.Header.Get("Cache-Control"))
				assert.Equal(t, row.req.Method == "HEAD" || row.status == 204, d.Body == "")
			}
			if row.outcome == Refused {
				assert.NotEmpty(t, d.Reason)
			}
		})
	}
}

func TestADeepHealthCheckAsksTheRegistry(t *testing.T) {
	asleep := nodes(well("n1", "blue", status(cluster.Paused)), well("n2", "blue", status(cluster.Starting)))
	broken := nodes(well("n1", "blue"))
	broken.Broken = make([]cluster.Broken, 2)
	for _, row := range []struct {
		name   string
		s      *cluster.Snapshot
		at     cluster.Millis
		status int
		body   string
	}{
		{"somebody is offered", broken, now, 200, `{"status":"ok","epoch":7,"nodes":1,"broken":2}`},
		{"the last moment of the only node", nodes(well("n1", "blue")), now.Add(timeout), 200, `{"status":"ok","epoch":7,"nodes":1,"broken":0}`},
		{"the only node is stale", nodes(well("n1", "blue")), now.Add(timeout) + 1, 503, `{"status":"nobody offered","epoch":7,"nodes":1,"broken":0}`},
		{"all are paused or starting", asleep, now, 503, `{"status":"nobody offered","epoch":7,"nodes":2,"broken":0}`},
		{"nobody is there", nodes(), now, 503, `{"status":"nobody offered","epoch":7,"nodes":0,"broken":0}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := answer(redirector(), get("/_health?deep"), row.s, row.at)
			assert.Equal(t, row.status, d.Status)
			assert.Equal(t, Health, d.Outcome)
			assert.JSONEq(t, row.body, d.Body)
			assert.Empty(t, answer(redirector(), request("HEAD", "/_health?deep"), row.s, row.at).Body)
		})
	}
}

// whatwg/fetch#204, ashleysommer/sanic-cors#39, digiaonline/lumen-cors#66,
// adamchainz/django-cors-headers#17: a redirect in answer to a preflight is a network error.
func TestPreflightsAreAnswered(t *testing.T) {
	mine := func(c *Config) { c.CORSOrigins = []string{"https://mine.example"} }
	credentials := func(c *Config) { c.CORSCredentials = true }
	star := func(c *Config) { c.CORSOrigins = []string{"*"} }
	for _, row := range []struct {
		name   string
		config []func(*Config)
		origin string
		allow  Header
	}{
		{"any origin", nil, "https://page.example", Header{{"Access-Control-Allow-Origin", "*"}}},
		{"any origin, written as a star", []func(*Config){star}, "https://page.example", Header{{"Access-Control-Allow-Origin", "*"}}},
		{"an opaque origin (minio/minio#17517)", nil, "null", Header{{"Access-Control-Allow-Origin", "*"}}},
		{"one of the configured", []func(*Config){mine}, "https://mine.example", Header{{"Vary", "Origin"}, {"Access-Control-Allow-Origin", "https://mine.example"}}},
		{"none of the configured", []func(*Config){mine}, "https://page.example", Header{{"Vary", "Origin"}}},
		{"an end of a configured one", []func(*Config){mine}, "https://not.https://mine.example", Header{{"Vary", "Origin"}}},
		{"any origin, with credentials", []func(*Config){credentials}, "https://page.example", Header{
			{"Vary", "Origin"},
			{"Access-Control-Allow-Origin", "https://page.example"},
			{"Access-Control-Allow-Credentials", "true"},
		}},
		{"one of the configured, with credentials", []func(*Config){mine, credentials}, "https://mine.example", Header{
			{"Vary", "Origin"},
			{"Access-Control-Allow-Origin", "https://mine.example"},
			{"Access-Control-Allow-Credentials", "true"},
		}},
		{"none of the configured, with credentials", []func(*Config){mine, credentials}, "https://page.example", Header{{"Vary", "Origin"}}},
		{"an origin that splits the header", []func(*Config){credentials}, "https://a\r\nb: c", Header{{"Vary", "Origin"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := redirector(row.config...)
			d := answer(r, request("OPTIONS", "/x", "origin: "+row.origin,
				"access-control-request-method: PUT", "access-control-request-headers: authorization,x-a"), nodes(), now)
			want := append(Header{{"Cache-Control", "no-store"}}, row.allow...)
			if row.allow.Get("Access-Control-Allow-Origin") != "" {
				want = append(want, Field{"Access-Control-Allow-Methods", "PUT"}, Field{"Access-Control-Allow-Headers", "authorization,x-a"})
			}
			assert.Equal(t, 204, d.Status)
			assert.Equal(t, want, d.Header)

			for _, s := range []*cluster.Snapshot{nodes(well("n1", "blue")), nodes()} {
				d = answer(r, get("/x", "origin: "+row.origin), s, now)
				assert.Contains(t, []int{307, 503}, d.Status)
				for _, f := range row.allow {
					assert.Equal(t, f.Value, d.Header.Get(f.Name), "openfoodfacts/openfoodfacts-server#12223: each hop is checked")
				}
				assert.Equal(t, row.allow.Get("Access-Control-Allow-Origin"), d.Header.Get("Access-Control-Allow-Origin"))
			}
		})
	}
}

func TestAPreflightSplitsNoHeader(t *testing.T) {
	d := answer(redirector(), request("OPTIONS", "/x", "origin: https://page.example",
		"access-control-request-method: PUT\r\nX: y", "access-control-request-headers: a\r\nX: y"), nodes(), now)
	require.Equal(t, 204, d.Status)
	assert.Equal(t, "GET", d.Header.Get("Access-Control-Allow-Methods"))
	assert.Empty(t, d.Header.Get("Access-Control-Allow-Headers"))
}

func TestAPlainOPTIONSIsRedirected(t *testing.T) {
	d := answer(redirector(), request("OPTIONS", "/x", "origin: https://page.example"), nodes(well("n1", "blue")), now)
	assert.Equal(t, "https://n1.example.com/x", led(d))
}
