package shop

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patience bounds every wait of these tests.
const patience = 20 * time.Second

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// serve starts h in the name of that life.
func serve(t *testing.T, by Life, h http.Handler) (url string) {
	t.Helper()
	s := httptest.NewServer(signed(by, h))
	t.Cleanup(s.Close)
	return s.URL
}

// visit has one customer visit url, and returns what became of it.
func visit(t *testing.T, url string, tl *Tally) Result {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c := newCustomer(transport, url, tl, func() string { return "test" }, time.Millisecond)
	c.visit(within(t, patience), nil)
	return tl.Final(time.Now())
}

func TestAVisitBeginsWithALoginAndEndsWithALogout(t *testing.T) {
	a := newApp("n1")
	for range 20 {
		r := visit(t, serve(t, first, a.handler()), NewTally(began))
		assert.Empty(t, r.Failures)
		assert.Equal(t, 1, r.Logins)
		assert.Equal(t, r.Requests, r.OK)
		assert.GreaterOrEqual(t, r.Requests, minSteps+2)
		assert.LessOrEqual(t, r.Requests, maxSteps+2)
		assert.Zero(t, a.sessions())
	}
}

func TestACustomerStaysWhereARedirectLed(t *testing.T) {
	a := newApp("n2")
	node := serve(t, other, a.handler())
	var asked atomic.Int32
	door := serve(t, first, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(w, r, node+r.RequestURI, http.StatusTemporaryRedirect)
	}))
	tl := NewTally(began)
	tl.Close(first)
	r := visit(t, door, tl)
	assert.Equal(t, r.Requests, r.OK)
	assert.EqualValues(t, 1, asked.Load(), "the login alone")
	assert.Equal(t, 1, r.Redirected)
	assert.Zero(t, r.NewcomersAtDrained, "who redirects serves nobody")
}

func TestALostSessionEndsTheVisit(t *testing.T) {
	for name, broken := range map[string]http.HandlerFunc{
		"it is not known":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"the cart is empty": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") },
	} {
		t.Run(name, func(t *testing.T) {
			works := newApp("n1").handler()
			var items atomic.Int32
			door := serve(t, first, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/cart" && r.Method == http.MethodPost && items.Add(1) > 1 {
					broken(w, r)
					return
				}
				works.ServeHTTP(w, r)
			}))
			var r Result
			for items.Load() < 2 { // some customers only look
				items.Store(0)
				r = visit(t, door, NewTally(began))
			}
			assert.Equal(t, []int{1, 0, 1}, []int{r.SessionsLost, r.Failed, r.LostEarly})
			assert.EqualValues(t, 2, items.Load(), "that was all")
			require.Len(t, r.Failures, 1)
			assert.Contains(t, r.Failures[0].URL, "/cart")
		})
	}
}

func TestWhatElseGoesWrongIsAFailure(t *testing.T) {
	for name, row := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"a status":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, "status 503"},
		"no login":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "status 401"},
		"no cart":       {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }, "read cart: "},
		"another cart":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `["a"]`) }, "the cart holds 1 items, not the 0 put in"},
		"no answer":     {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
		"half of a one": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "9") }, "read answer: "},
	} {
		r := visit(t, serve(t, first, row.answer), NewTally(began))
		assert.Equal(t, []int{1, 1, 0}, []int{r.Requests, r.Failed, r.SessionsLost}, name)
		require.Len(t, r.Failures, 1, name)
		assert.Contains(t, r.Failures[0].Error, row.want, name)
	}
}

func TestCustomersComeUntilTheyAreStopped(t *testing.T) {
	a := newApp("n1")
	tl := NewTally(time.Now())
	l := Load{URL: serve(t, first, a.handler()), Rate: 2000, Think: time.Millisecond, Tally: tl, Phase: func() string { return "" }}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		l.Run(within(t, patience), stop)
	}()
	require.Eventually(t, func() bool { return tl.Counts().Logins > 20 }, patience, time.Millisecond)
	close(stop)
	<-ended
	r := tl.Counts()
	assert.Equal(t, r.Requests, r.OK)
	assert.Equal(t, r, tl.Counts(), "nobody is left")
}

func TestWhoIsGivenUpIsNotCounted(t *testing.T) {
	ctx, cancel := context.WithCancel(within(t, patience))
	tl := NewTally(time.Now())
	arrived := make(chan struct{}, maxCustomers)
	l := Load{URL: serve(t, first, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	})), Rate: 2000, Tally: tl, Phase: func() string { return "" }}
	go func() {
		<-arrived
		cancel()
	}()
	l.Run(ctx, nil)
	assert.Zero(t, tl.Counts().Requests)
}
