package localalb

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLifeOfAListener(t *testing.T) {
	lb, err := New(Config{})
	require.NoError(t, err)
	assert.Empty(t, lb.URL(), "before Start")
	require.NoError(t, lb.Start(t.Context()))
	assert.True(t, strings.HasPrefix(lb.URL(), "http://127.0.0.1:"))
	require.Error(t, lb.Start(t.Context()), "twice")

	second, err := New(Config{Addr: strings.TrimPrefix(lb.URL(), "http://")})
	require.NoError(t, err)
	require.ErrorContains(t, second.Start(t.Context()), "listen on", "the address is taken")
	require.NoError(t, second.Close(), "without Start")
	require.Error(t, second.Start(t.Context()), "after Close")

	require.NoError(t, lb.Close())
	assert.Contains(t, fetch(t, &http.Client{Transport: &http.Transport{}}, lb.URL()), "dial tcp", "nobody listens any more")
	_, err = New(Config{XFF: "replace"})
	require.Error(t, err)
}

func TestSplitTarget(t *testing.T) {
	for _, tc := range []struct {
		uri, path, query string
		marked           bool
	}{
		{"/a/b", "/a/b", "", false},
		{"/a?b?c", "/a", "b?c", true},
		{"/?", "/", "", true},
		{"?a", "/", "a", true},
		{"//a//b", "//a//b", "", false},
		{"*", "*", "", false},
		{"http://a.example", "/", "", false},
		{"http://a.example?b", "/", "b", true},
		{"HTTP://u@a.example:80//b?c://d", "//b", "c://d", true},
		{"/http://a/b", "/http://a/b", "", false},
	} {
		t.Run(tc.uri, func(t *testing.T) {
			path, query, marked := splitTarget(tc.uri)
			assert.Equal(t, []any{tc.path, tc.query, tc.marked}, []any{path, query, marked})
		})
	}
}

func TestForwardedOverTLSAndIPv6(t *testing.T) {
	lb, err := New(Config{})
	require.NoError(t, err)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	r.TLS, r.RemoteAddr, r.Host = &tls.ConnectionState{}, "[2001:db8::1]:5000", ""
	x := lb.newExchange(httptest.NewRecorder(), r)
	x.forwarded()
	assert.Equal(t, "https", x.header.Get(headerProto))
	assert.Equal(t, "443", x.header.Get(headerPort))
	assert.Equal(t, "2001:db8::1", x.header.Get(headerFor), "without brackets")
	assert.Equal(t, "localhost", x.host)
	x.lb.cfg.XFFClientPort = true
	assert.Equal(t, "[2001:db8::1]:5000", x.peer())
}

func TestAnAnswerCutOffByTheTargetIsCutOffForTheClient(t *testing.T) {
	addr, _ := rawBackend(t, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
	f := serveTargets(t, Config{}, addr)
	got := fetch(t, &http.Client{Transport: &http.Transport{}}, f.URL())
	assert.Contains(t, got, "EOF")
	assert.Equal(t, 200, f.record().TargetStatus)
}

func TestAClientThatLeavesATargetIsRecorded(t *testing.T) {
	entered := make(chan struct{}, 10)
	hangs := backend(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.UserAgent() != checkerAgent {
			entered <- struct{}{}
			<-r.Context().Done()
		}
	})
	f := serveTargets(t, Config{}, hangs)
	ctx, leave := context.WithTimeout(t.Context(), 5*time.Second)
	defer leave()
	go func() {
		receive(t, entered)
		leave()
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL(), http.NoBody)
	require.NoError(t, err)
	res, err := (&http.Transport{}).RoundTrip(req)
	if err == nil {
		_ = res.Body.Close()
	}
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, StatusClientClosed, f.record().Status)
}
