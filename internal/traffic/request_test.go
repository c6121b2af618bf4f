package traffic

import (
	"crypto/sha256"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestASourceOfTheSameSeedMakesTheSameRequests(t *testing.T) {
	a, b, other := newSource(3, groups), newSource(3, groups), newSource(4, groups)
	seen, differs := map[string]bool{}, false
	for range 500 {
		r := a.next()
		assert.Equal(t, r, b.next())
		differs = differs || r.want != other.next().want
		assert.LessOrEqual(t, len(r.body), maxBody)
		group, _, _ := strings.Cut(strings.TrimPrefix(r.path, "/"), "/")
		seen[r.method+" "+group] = true
		if r.method == http.MethodGet {
			assert.Empty(t, r.body)
		} else if len(r.body) > maxBody/2 {
			seen["large"] = true
		}
	}
	assert.True(t, differs)
	assert.Len(t, seen, 5, "%v", seen)
}

// upload is a POST of a body that takes several packets.
func upload() request {
	body := []byte(strings.Repeat("0123456789", 10_000))
	sum := sha256.Sum256(body)
	return request{http.MethodPost, "/blue/items/1", body, sha256.Sum256(receipt(sum[:], int64(len(body))))}
}

func TestWhatBecomesOfARequest(t *testing.T) {
	right := &Node{ID: "blue-1"}
	node := httptest.NewServer(right)
	defer node.Close()
	fixed := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	for _, row := range []struct {
		name    string
		handler http.HandlerFunc
		want    outcome // but for url, err and took
		err     string
	}{
		{"the right body is well", right.ServeHTTP, outcome{status: 200}, ""},
		{"a 307 is followed, with the body", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", node.URL+r.URL.Path+"?detour=1.abc")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, outcome{status: 200, redirected: true}, ""},
		{"a wrong body is a mismatch", fixed(200, "something else"), outcome{status: 200, mismatch: true}, "wrong body of 14 bytes"},
		{"an empty one too", fixed(200, ""), outcome{status: 200, mismatch: true}, "wrong body of 0 bytes"},
		{"the body of an error page does not matter", fixed(503, "nobody"), outcome{status: 503}, ""},
		{"an answer cut short is an error", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("half"))
		}, outcome{status: 200}, "read answer: unexpected EOF"},
		{"no answer is an error", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, outcome{}, "EOF"},
		{"a redirect to nowhere is an error", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		}, outcome{redirected: true}, "connection refused"},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := httptest.NewServer(row.handler)
			defer server.Close()
			r := upload()
			o := r.send(within(t, patience), server.Client(), server.URL)
			if row.err == "" {
				require.NoError(t, o.err)
			} else {
				require.ErrorContains(t, o.err, row.err)
			}
			assert.Positive(t, o.took)
			assert.Equal(t, !row.want.redirected, strings.HasPrefix(o.url, server.URL), o.url)
			row.want.method, row.want.url, row.want.err, row.want.took = http.MethodPost, o.url, o.err, o.took
			assert.Equal(t, row.want, o)
		})
	}
}
