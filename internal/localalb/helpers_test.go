package localalb

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// function is an Invoker made of a Go function.
type function func(payload []byte) ([]byte, error)

func (f function) Invoke(_ context.Context, payload []byte) ([]byte, error) { return f(payload) }

// says is a function that always answers the same.
func says(answer string) function {
	return func([]byte) ([]byte, error) { return []byte(answer), nil }
}

// fixture is a serving load balancer and what it recorded.
type fixture struct {
	*LoadBalancer
	t       *testing.T
	records chan Record
}

// serve starts a load balancer that ends with the test.
func serve(t *testing.T, cfg Config) *fixture {
	t.Helper()
	f := &fixture{t: t, records: make(chan Record, 1000)}
	cfg.OnRequest = func(r Record) {
		select {
		case f.records <- r:
		default: // a test that sends so many reads none
		}
	}
	lb, err := New(cfg)
	require.NoError(t, err)
	require.NoError(t, lb.Start(t.Context()))
	t.Cleanup(func() { assert.NoError(t, lb.Close()) })
	f.LoadBalancer = lb
	return f
}

// serveFunction starts a load balancer that sends everything to g.
func serveFunction(t *testing.T, cfg Config, g LambdaGroup) *fixture {
	t.Helper()
	f := serve(t, cfg)
	require.NoError(t, f.AddLambdaGroup("detour", g))
	require.NoError(t, f.SetDefault(Forward{"detour": 1}))
	return f
}

// raw sends the bytes of a request and returns the answer with its body, and
// the bytes of its header. Headers are read as sent, too.
func (f *fixture) raw(request string) (res *http.Response, body, head string) {
	f.t.Helper()
	conn, err := new(net.Dialer).DialContext(f.t.Context(), "tcp", strings.TrimPrefix(f.URL(), "http://"))
	require.NoError(f.t, err)
	defer conn.Close()
	require.NoError(f.t, conn.SetDeadline(time.Now().Add(5*time.Second)))
	go func() { _, _ = io.WriteString(conn, request) }()
	var seen strings.Builder
	method, _, _ := strings.Cut(request, " ")
	res, err = http.ReadResponse(bufio.NewReader(io.TeeReader(conn, &seen)), &http.Request{Method: method})
	require.NoError(f.t, err)
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	require.NoError(f.t, err)
	head, _, _ = strings.Cut(seen.String(), "\r\n\r\n")
	return res, string(all), head
}

// get sends a plain GET for target.
func (f *fixture) get(target string) (res *http.Response, body string) {
	f.t.Helper()
	res, body, _ = f.raw("GET " + target + " HTTP/1.1\r\nHost: app.example.com\r\n\r\n")
	return res, body
}

// record returns the next record.
func (f *fixture) record() Record {
	f.t.Helper()
	return receive(f.t, f.records)
}

// receive waits for a value, for 5 s at most.
func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(5 * time.Second):
		require.FailNow(t, "nothing came within 5 s")
		panic("unreachable")
	}
}

// backend serves h on loopback until the test ends and returns its host:port.
func backend(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, DisableGeneralOptionsHandler: true}
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(func() { _ = srv.Close() })
	return ln.Addr().String()
}

// rawBackend accepts one connection after the other and gives each the whole
// request head, then answers reply. It returns its host:port.
func rawBackend(t *testing.T, reply string) (addr string, heads <-chan string) {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	seen := make(chan string, 100)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			seen <- readHead(conn)
			_, _ = io.WriteString(conn, reply)
			_ = conn.Close()
		}
	}()
	return ln.Addr().String(), seen
}

func readHead(conn net.Conn) string {
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	var head strings.Builder
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		head.WriteString(line)
		if err != nil || line == "\r\n" {
			return head.String()
		}
	}
}
