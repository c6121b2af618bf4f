package localalb

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRefusedRequests(t *testing.T) {
	const host = "Host: a.example\r\n"
	addresses := func(n int) string { return strings.TrimSuffix(strings.Repeat("192.0.2.1, ", n), ", ") }
	header := func(total int) string { return "X-Big: " + strings.Repeat("x", total-len("X-Big: ")) + "\r\n" }
	headers := func(total int) string { // all of them with host make total
		total -= len(host) - 2
		var b strings.Builder
		for i := range 4 {
			const size = 16000
			name := fmt.Sprintf("X-%d: ", i)
			b.WriteString(name + strings.Repeat("x", size-len(name)) + "\r\n")
			total -= size
		}
		return b.String() + "Y: " + strings.Repeat("y", total-3) + "\r\n"
	}
	for _, tc := range []struct {
		name, request string
		status        int
		reason        string
	}{
		{"TRACE", "TRACE / HTTP/1.1\r\n" + host + "\r\n", 405, ""},
		{"CONNECT", "CONNECT a.example:443 HTTP/1.1\r\n" + host + "\r\n", 400, ""},
		{"a websocket", "GET / HTTP/1.1\r\n" + host + "Connection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n", 400, ReasonWebsocketUnsupported},
		{"another upgrade", "GET / HTTP/1.1\r\n" + host + "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", 200, ""},
		{"30 addresses", "GET / HTTP/1.1\r\n" + host + "X-Forwarded-For: " + addresses(30) + "\r\n\r\n", 200, ""},
		{"31 addresses", "GET / HTTP/1.1\r\n" + host + "X-Forwarded-For: " + addresses(30) + "\r\nX-Forwarded-For: ::1\r\n\r\n", 463, ""},
		{"a request line of 16 KiB", "GET /" + strings.Repeat("x", 16<<10-14) + " HTTP/1.1\r\n" + host + "\r\n", 200, ""},
		{"a request line a byte longer", "GET /" + strings.Repeat("x", 16<<10-13) + " HTTP/1.1\r\n" + host + "\r\n", 400, ""},
		{"a URL of 16 KiB and a byte", "GET /" + strings.Repeat("x", 16<<10) + " HTTP/1.1\r\n" + host + "\r\n", 414, ""},
		{"a header of 16 KiB", "GET / HTTP/1.1\r\n" + host + header(16<<10) + "\r\n", 200, ""},
		{"a header a byte longer", "GET / HTTP/1.1\r\n" + host + header(16<<10+1) + "\r\n", 400, ""},
		{"64 KiB of headers", "GET / HTTP/1.1\r\n" + host + headers(64<<10) + "\r\n", 200, ""},
		{"headers a byte longer", "GET / HTTP/1.1\r\n" + host + headers(64<<10+1) + "\r\n", 400, ""},
		{"a header that is not UTF-8", "GET / HTTP/1.1\r\n" + host + "X-Name: \xe9\r\n\r\n", 502, ReasonBadRequest},
		{"a path that is not UTF-8", "GET /\xe9 HTTP/1.1\r\n" + host + "\r\n", 502, ReasonBadRequest},
		{"text that is not UTF-8", "POST / HTTP/1.1\r\n" + host + "Content-Type: text/plain\r\nContent-Length: 1\r\n\r\n\xe9", 502, ReasonBadRequest},
		{"bytes that are not UTF-8", "POST / HTTP/1.1\r\n" + host + "Content-Length: 1\r\n\r\n\xe9", 200, ""},
		{"a body of 10 bytes", "POST / HTTP/1.1\r\n" + host + "Content-Length: 10\r\n\r\n0123456789", 200, ""},
		{"a body of 11 bytes", "POST / HTTP/1.1\r\n" + host + "Content-Length: 11\r\n\r\n0123456789a", 413, ReasonRequestTooLarge},
		{"10 bytes in chunks", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n", 200, ""},
		{"11 bytes in chunks", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nb\r\n0123456789a\r\n0\r\n\r\n", 413, ReasonRequestTooLarge},
		{"a bad chunk", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			calls := 0
			f := serveFunction(t, Config{MaxLambdaBody: 10}, LambdaGroup{Function: function(func([]byte) ([]byte, error) {
				calls++
				return []byte(`{"statusCode":200}`), nil
			})})
			res, body, _ := f.raw(tc.request)
			assert.Equal(t, tc.status, res.StatusCode)
			assert.Equal(t, "awselb/2.0", res.Header.Get("Server"))
			assert.Equal(t, tc.reason, f.record().Reason)
			if tc.status != 200 {
				assert.Equal(t, page(tc.status), body)
			}
			assert.Equal(t, tc.status == 200, calls == 1, "invoked only if accepted")
		})
	}
}

func TestSwitchesOfRefusals(t *testing.T) {
	f := serveFunction(t, Config{RefuseAnyUpgrade: true, NonUTF8Status: 400}, LambdaGroup{Function: says(`{"statusCode":200}`)})

	res, _, _ := f.raw("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
	assert.Equal(t, 400, res.StatusCode)
	assert.Equal(t, ReasonWebsocketUnsupported, f.record().Reason)

	res, _, _ = f.raw("GET / HTTP/1.1\r\nHost: a\r\nX-Name: \xe9\r\n\r\n")
	assert.Equal(t, 400, res.StatusCode)
	assert.Equal(t, ReasonBadRequest, f.record().Reason)
}

func TestTheDefaultBodyLimitIsOneMiB(t *testing.T) {
	cfg, err := Config{}.withDefaults()
	require.NoError(t, err)
	assert.EqualValues(t, 1048576, cfg.MaxLambdaBody)
}

func TestFailuresOfTheFunction(t *testing.T) {
	for _, tc := range []struct {
		name   string
		fn     Invoker
		status int
		reason string
	}{
		{"an error", function(func([]byte) ([]byte, error) { return nil, errors.New("boom") }), 502, ReasonUnhandled},
		{"a timeout", function(func([]byte) ([]byte, error) { return nil, context.DeadlineExceeded }), 502, ReasonUnhandled},
		{"a panic", function(func([]byte) ([]byte, error) { panic("boom") }), 502, ReasonUnhandled},
		{"throttled", function(func([]byte) ([]byte, error) { return nil, fmt.Errorf("invoke: %w", ErrThrottled) }), 502, ReasonThrottling},
		{"no permission", function(func([]byte) ([]byte, error) { return nil, ErrAccessDenied }), 502, ReasonAccessDenied},
		{"no such function", function(func([]byte) ([]byte, error) { return nil, ErrFunctionNotFound }), 502, ReasonResourceNotFound},
		{"Lambda out of reach", function(func([]byte) ([]byte, error) { return nil, ErrConnectionTimeout }), 504, ReasonConnectionTimeout},
		{"no function registered", nil, 503, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := serveFunction(t, Config{}, LambdaGroup{Function: tc.fn})
			res, body := f.get("/")
			assert.Equal(t, tc.status, res.StatusCode)
			assert.Equal(t, page(tc.status), body)
			rec := f.record()
			assert.Equal(t, tc.reason, rec.Reason)
			assert.Equal(t, tc.status, rec.Status)
			assert.Equal(t, "detour", rec.Group)
			assert.NotEmpty(t, rec.Detail)
		})
	}
}

func TestTheFunctionGoesOnWhenTheClientLeaves(t *testing.T) {
	clientCtx, leave := context.WithCancel(t.Context())
	f := serveFunction(t, Config{}, LambdaGroup{Function: contextFunction(func(ctx context.Context) ([]byte, error) {
		leave()
		assert.NoError(t, ctx.Err())
		return []byte(`{"statusCode":200}`), nil
	})})
	w := httptest.NewRecorder()
	f.ServeHTTP(w, httptest.NewRequestWithContext(clientCtx, http.MethodGet, "/", http.NoBody))
	assert.Equal(t, StatusClientClosed, f.record().Status)
	assert.Empty(t, w.Body.String())
}

type contextFunction func(ctx context.Context) ([]byte, error)

func (f contextFunction) Invoke(ctx context.Context, _ []byte) ([]byte, error) { return f(ctx) }

func TestPagesHaveTheLengthSeenOnAWS(t *testing.T) {
	for status, size := range map[int]int{502: 122, 503: 162, 504: 132} {
		assert.Len(t, page(status), size)
	}
	assert.True(t, strings.HasPrefix(page(502), "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n"))
}
