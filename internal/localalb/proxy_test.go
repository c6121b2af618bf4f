package localalb

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serveTargets starts a load balancer that forwards everything to targets,
// whose health checks are too rare to matter.
func serveTargets(t *testing.T, cfg Config, targets ...string) *fixture {
	t.Helper()
	f := serve(t, cfg)
	require.NoError(t, f.AddHTTPGroup("app", HTTPGroup{}))
	require.NoError(t, f.Register("app", targets...))
	require.NoError(t, f.SetDefault(Forward{"app": 1}))
	return f
}

// refusing returns an address that refuses connections until the test ends: it
// is bound, so that nobody else gets it, but nobody listens.
func refusing(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	bound, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	return fmt.Sprintf("127.0.0.1:%d", bound.(*syscall.SockaddrInet4).Port)
}

// echoTarget answers the request target as received.
func echoTarget(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RequestURI) }

func TestPathAndQueryReachTheTargetUntouched(t *testing.T) {
	f := serveTargets(t, Config{}, backend(t, echoTarget))
	for _, target := range []string{
		"/", "/?", "/a?", "/a%2Fb", "/a%2fb", "//", "//evil.example/x", "/a//b/../c/./d", "/%2e%2e/", "/a;b=c;d", "/a?b;c;d&e=%zz", "/?%zz",
		"/?a=1&a=2&&b", "/a{b}|\"^`<>\\#x", "/\xc3\xa9?\xc3\xa9", "/?q=/?#x", "/a+b%20c?d+e%20f", "/[x]?[y]=z", "/*", "/:80@evil.example", "/http://a/b",
	} {
		_, body := f.get(target)
		assert.Equal(t, target, body)
	}
	_, body, _ := f.raw("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")
	assert.Equal(t, "*", body)
	_, body, _ = f.raw("GET http://a.example/x//y%2F?z HTTP/1.1\r\nHost: a\r\n\r\n")
	assert.Equal(t, "/x//y%2F?z", body, "the absolute form becomes the origin form")
}

// TestRandomTargetsAreUntouched is the same by property. Escapes are valid in
// the path and random in the query.
func TestRandomTargetsAreUntouched(t *testing.T) {
	f := serveTargets(t, Config{}, backend(t, echoTarget))
	pieces := strings.Split(`a Z 0 / / . .. ; : @ & = + $ , ! * ' ( ) ~ _ - %2F %2f %C2%A5 %00 { } | ^ [ ] \ "`, " ")
	rnd := rand.New(rand.NewPCG(1, 2))
	random := func(from []string) string {
		var b strings.Builder
		for range rnd.IntN(12) {
			b.WriteString(from[rnd.IntN(len(from))])
		}
		return b.String()
	}
	for range 300 {
		target := "/x" + random(pieces)
		if rnd.IntN(2) == 0 {
			target += "?" + random(append(pieces, "?", "%", "%z", "#"))
		}
		_, body := f.get(target)
		require.Equal(t, target, body)
	}
}

// An invalid escape passes the load balancer, though not the parser of
// net/http in front of its listener.
func TestRawURLOfWhatNetURLRefuses(t *testing.T) {
	for _, path := range []string{"/%zz", "/a%", "/a b"} {
		assert.Equal(t, path+"?q", rawURL("127.0.0.1:1", path, "q", true).RequestURI())
	}
	for path, sent := range map[string]string{"//a{b": "//a%7Bb", "//%zz": "//%25zz"} { // the documented exception
		assert.Equal(t, sent, rawURL("127.0.0.1:1", path, "", false).RequestURI())
	}
}

func TestHeadersThatTargetsGet(t *testing.T) {
	addr, heads := rawBackend(t, "HTTP/1.1 200 OK\r\nServer: app\r\nConnection: X-Hop\r\nX-Hop: 1\r\nX-Keep: 2\r\nContent-Length: 0\r\n\r\n")
	f := serveTargets(t, Config{Port: 80, XFF: XFFAppend}, addr)
	res, _, _ := f.raw("GET /a HTTP/1.1\r\nHost: app.example.com:80\r\nConnection: X-Secret, X-Forwarded-For\r\nX-Secret: 1\r\nKeep-Alive: 5\r\n" +
		"TE: gzip\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: h.example\r\nForwarded: for=192.0.2.9\r\nX-Twice: 1\r\nX-Twice: 2\r\n\r\n")
	for head := receive(t, heads); ; head = receive(t, heads) {
		if strings.Contains(head, checkerAgent) {
			continue // the first health check
		}
		assert.Regexp(t, `X-Amzn-Trace-Id: Root=1-[0-9a-f]{8}-[0-9a-f]{24}\r\n`, head)
		lines := strings.Split(strings.TrimSpace(head), "\r\n")
		lines = dropPrefix(lines, "X-Amzn-Trace-Id")
		assert.Equal(t, "GET /a HTTP/1.1", lines[0])
		assert.ElementsMatch(t, []string{
			"Host: app.example.com", "Forwarded: for=192.0.2.9", "X-Forwarded-For: 192.0.2.1, 127.0.0.1", "X-Forwarded-Host: h.example",
			"X-Forwarded-Port: 80", "X-Forwarded-Proto: http", "X-Twice: 1", "X-Twice: 2",
		}, lines[1:], "no User-Agent or Accept-Encoding is added")
		break
	}
	assert.Equal(t, "app", res.Header.Get("Server"), "a target's own Server is kept")
	assert.Equal(t, "2", res.Header.Get("X-Keep"))
	assert.Empty(t, res.Header.Get("X-Hop"))
}

func dropPrefix(lines []string, prefix string) []string {
	var kept []string
	for _, l := range lines {
		if !strings.HasPrefix(l, prefix) {
			kept = append(kept, l)
		}
	}
	return kept
}

func TestTargetFailures(t *testing.T) {
	closes, _ := rawBackend(t, "")
	garbage, _ := rawBackend(t, "hello\r\n\r\n")
	hangs := backend(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for _, tc := range []struct {
		name    string
		targets []string
		status  int
	}{
		{"nobody listens", []string{refusing(t)}, 502},
		{"the connection is closed before an answer", []string{closes}, 502},
		{"the answer is no HTTP", []string{garbage}, 502},
		{"the answer takes too long", []string{hangs}, 504},
		{"nobody is registered", nil, 503},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := serveTargets(t, Config{IdleTimeout: 100 * time.Millisecond}, tc.targets...)
			res, body := f.get("/")
			assert.Equal(t, tc.status, res.StatusCode)
			assert.Equal(t, page(tc.status), body)
			assert.Equal(t, "awselb/2.0", res.Header.Get("Server"))
			rec := f.record()
			assert.Equal(t, tc.status, rec.Status)
			assert.Equal(t, strings.Join(tc.targets, ""), rec.Target)
			assert.Zero(t, rec.TargetStatus)
			assert.NotEmpty(t, rec.Detail)
			assert.Empty(t, rec.Reason)
		})
	}
}

func TestAFailedTargetIsNotReplacedByAnother(t *testing.T) {
	f := serveTargets(t, Config{}, refusing(t), backend(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) }))
	got := map[int]int{}
	for range 2 {
		// Both are taken while neither is healthy, so each gets one.
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		g, err := f.httpGroup("app")
		require.NoError(t, err)
		setStates(g, StateUnhealthy)
		w := httptest.NewRecorder()
		f.ServeHTTP(w, req)
		got[w.Code]++
	}
	assert.Equal(t, map[int]int{502: 1, 201: 1}, got)
}

func setStates(g *httpGroup, s State) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range g.targets {
		t.end()
		t.state = s
	}
}

func TestBodiesStreamBothWays(t *testing.T) {
	f := serveTargets(t, Config{}, backend(t, func(w http.ResponseWriter, r *http.Request) {
		if r.UserAgent() == checkerAgent {
			return
		}
		in := bufio.NewReader(r.Body)
		_ = http.NewResponseController(w).EnableFullDuplex()
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			_, _ = io.WriteString(w, "got "+line)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	body, feed := io.Pipe()
	defer feed.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.URL(), body)
	require.NoError(t, err)
	go func() { _, _ = io.WriteString(feed, "one\n") }()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(req)
	require.NoError(t, err)
	defer res.Body.Close()
	out := bufio.NewReader(res.Body)
	for _, want := range []string{"got one\n", "got two\n"} {
		line, err := out.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, want, line)
		if want == "got one\n" {
			_, err = io.WriteString(feed, "two\n")
			require.NoError(t, err)
		}
	}
	require.NoError(t, feed.Close())
	_, err = out.ReadString('\n')
	assert.ErrorIs(t, err, io.EOF)
	rec := f.record()
	assert.Equal(t, 200, rec.Status)
	assert.Equal(t, 200, rec.TargetStatus)
}

func TestAnUpgradeReachesAnHTTPTarget(t *testing.T) {
	addr, _ := rawBackend(t, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhi")
	f := serveTargets(t, Config{}, addr)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(f.URL(), "http://"))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(5*time.Second)))
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	require.NoError(t, err)
	all, err := io.ReadAll(conn)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(all), "HTTP/1.1 101 "), "%s", all)
	assert.True(t, strings.HasSuffix(string(all), "\r\n\r\nhi"), "%s", all)
}
