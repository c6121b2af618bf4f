package shop

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ask sends a request with that session and returns the answer.
func ask(t *testing.T, h http.Handler, method, path, session, form string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if session != "" {
		r.AddCookie(&http.Cookie{Name: SessionCookie, Value: session})
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func login(t *testing.T, h http.Handler) (session string) {
	t.Helper()
	res := ask(t, h, http.MethodPost, "/login", "", "").Result()
	defer res.Body.Close()
	require.Len(t, res.Cookies(), 1)
	assert.Equal(t, SessionCookie, res.Cookies()[0].Name)
	return res.Cookies()[0].Value
}

func TestASessionKeepsItsCart(t *testing.T) {
	a := newApp("n1")
	h := a.handler()
	mine, theirs := login(t, h), login(t, h)
	assert.NotEqual(t, mine, theirs)
	assert.True(t, strings.HasSuffix(mine, ".n1"), mine)
	assert.EqualValues(t, 2, a.sessions())

	assert.Equal(t, "[]\n", ask(t, h, http.MethodGet, "/cart", mine, "").Body.String())
	assert.Equal(t, `["a"]`+"\n", ask(t, h, http.MethodPost, "/cart", mine, "item=a").Body.String())
	assert.Equal(t, `["a","b"]`+"\n", ask(t, h, http.MethodPost, "/cart", mine, "item=b").Body.String())
	assert.Equal(t, `["a","b"]`+"\n", ask(t, h, http.MethodGet, "/cart", mine, "").Body.String())
	assert.Equal(t, "[]\n", ask(t, h, http.MethodGet, "/cart", theirs, "").Body.String())

	assert.Equal(t, "[]\n", ask(t, h, http.MethodPost, "/logout", mine, "").Body.String())
	assert.EqualValues(t, 1, a.sessions())
	assert.Equal(t, http.StatusUnauthorized, ask(t, h, http.MethodGet, "/cart", mine, "").Code)
}

func TestWhoIsNotLoggedInHereGets401(t *testing.T) {
	h := newApp("n1").handler()
	elsewhere := login(t, newApp("n1").handler())
	for _, session := range []string{"", "x.n1", elsewhere} {
		for _, r := range [][2]string{{http.MethodGet, "/cart"}, {http.MethodPost, "/cart"}, {http.MethodPost, "/logout"}} {
			assert.Equal(t, http.StatusUnauthorized, ask(t, h, r[0], r[1], session, "item=a").Code, "%s %s of %q", r[0], r[1], session)
		}
	}
}

func TestAnItemIsOneOfAUsualSize(t *testing.T) {
	h := newApp("n1").handler()
	session := login(t, h)
	assert.Equal(t, http.StatusOK, ask(t, h, http.MethodPost, "/cart", session, "item="+strings.Repeat("a", maxItem)).Code)
	for _, form := range []string{"", "item=", "item=" + strings.Repeat("a", maxItem+1)} {
		assert.Equal(t, http.StatusBadRequest, ask(t, h, http.MethodPost, "/cart", session, form).Code)
	}
}
