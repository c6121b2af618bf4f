package traffic

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func newTestNode(t *testing.T) *Node {
	t.Helper()
	n := &Node{ID: "blue-1", Group: "blue", Address: "127.0.0.2:0"}
	require.NoError(t, n.Start(t.Context(), 1))
	t.Cleanup(n.Stop)
	return n
}

func TestANodeComesBackAtTheSameAddressAsTheNewVersion(t *testing.T) {
	n := newTestNode(t)
	address := n.Address
	for version := 1; version <= 2; version++ {
		res := serve(n, http.MethodGet, "/blue/items/1", http.NoBody)
		assert.Equal(t, string(rune('0'+version)), res.Header().Get(versionHeader))
		assert.Equal(t, "blue-1", res.Header().Get(nodeHeader))
		status, err := get(t, n.URL()+HealthPath)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, status)

		n.Stop()
		n.Stop() // a second time is harmless
		_, err = get(t, n.URL()+HealthPath)
		require.Error(t, err, "it listens no more")
		require.NoError(t, n.Start(t.Context(), version+1))
		assert.Equal(t, address, n.Address)
	}
}

func TestAnAddressThatIsTakenEndsTheStart(t *testing.T) {
	n := newTestNode(t)
	n.Stop()
	var config net.ListenConfig
	taken, err := config.Listen(t.Context(), "tcp", n.Address)
	require.NoError(t, err)
	defer taken.Close()
	require.ErrorContains(t, n.Start(t.Context(), 2), "start blue-1: listen tcp "+n.Address)
}

func TestAPauseShowsInTheHealthCheckAlone(t *testing.T) {
	n := newTestNode(t)
	n.paused.Store(true)
	assert.Equal(t, http.StatusServiceUnavailable, serve(n, http.MethodGet, HealthPath, http.NoBody).Code)
	assert.Equal(t, http.StatusOK, serve(n, http.MethodGet, "/blue/items/1", http.NoBody).Code)
	n.paused.Store(false)
	assert.Equal(t, http.StatusOK, serve(n, http.MethodGet, HealthPath, http.NoBody).Code)
	assert.Equal(t, int64(1), n.arrivals.Load(), "health checks are no arrivals")
}

func TestANodeAnswersWhatTheClientExpects(t *testing.T) {
	n := newTestNode(t)
	s := newSource(7, groups)
	for range 50 {
		r := s.next()
		res := serve(n, r.method, r.path, bytes.NewReader(r.body))
		assert.Equal(t, http.StatusOK, res.Code)
		assert.Equal(t, r.want, sha256.Sum256(res.Body.Bytes()), "%s %s", r.method, r.path)
	}
	assert.Equal(t, int64(50), n.arrivals.Load())
	assert.Zero(t, n.InFlight())
}

func TestABodyCutShortIsRefused(t *testing.T) {
	body := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(io.ErrUnexpectedEOF))
	assert.Equal(t, http.StatusBadRequest, serve(newTestNode(t), http.MethodPost, "/blue/items/1", body).Code)
}

func TestOtherMethodsAreRefused(t *testing.T) {
	assert.Equal(t, http.StatusMethodNotAllowed, serve(newTestNode(t), http.MethodPut, "/blue/items/1", http.NoBody).Code)
}

func TestQuietIsCountedFromTheLatestArrivalOrTheBeginning(t *testing.T) {
	began := time.Unix(1000, 0)
	for _, row := range []struct {
		name     string
		arrival  time.Duration // after began
		inFlight int64
		now      time.Duration // after began
		want     time.Duration
	}{
		{"an arrival before the beginning does not count", -time.Hour, 0, time.Second, time.Second},
		{"an arrival since then does", time.Second, 0, 3 * time.Second, 2 * time.Second},
		{"a request in flight is never quiet", -time.Hour, 1, time.Second, 0},
		{"an arrival after now is not quiet", 2 * time.Second, 0, time.Second, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			var n Node
			n.latest.Store(began.Add(row.arrival).UnixNano())
			n.inFlight.Store(row.inFlight)
			assert.Equal(t, row.want, n.QuietSince(began, began.Add(row.now)))
		})
	}
}

// serve has n answer one request.
func serve(n *Node, method, path string, body io.Reader) *httptest.ResponseRecorder {
	res := httptest.NewRecorder()
	n.ServeHTTP(res, httptest.NewRequestWithContext(context.Background(), method, path, body))
	return res
}

func TestAPageFollowsFromItsPath(t *testing.T) {
	seen := map[string]bool{}
	for _, path := range []string{"/", "/blue/items/1", "/blue/items/2", "/green/items/1"} {
		p := page(path)
		assert.Equal(t, p, page(path))
		assert.GreaterOrEqual(t, len(p), minPage)
		assert.LessOrEqual(t, len(p), maxPage)
		seen[string(p)] = true
	}
	assert.Len(t, seen, 4)
}

func TestAReceiptTellsHashAndLength(t *testing.T) {
	assert.Equal(t, `{"sha256":"0aff","bytes":3}`+"\n", string(receipt([]byte{0x0a, 0xff}, 3)))
}
