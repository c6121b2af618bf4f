package localalb

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stickyFarm is a load balancer that binds clients for a minute to one of two
// targets, by a clock that only the test moves.
type stickyFarm struct {
	*fixture
	nodes   map[string]*node
	changes chan HealthChange
	passed  atomic.Int64
}

func newStickyFarm(t *testing.T) *stickyFarm {
	t.Helper()
	s := &stickyFarm{nodes: map[string]*node{"a": newNode(t, "a"), "b": newNode(t, "b")}, changes: make(chan HealthChange, 100)}
	s.fixture = serve(t, Config{
		Now:      func() time.Time { return time.UnixMilli(1_700_000_000_000 + s.passed.Load()) },
		OnHealth: func(c HealthChange) { s.changes <- c },
	})
	require.NoError(t, s.AddHTTPGroup("app", HTTPGroup{
		Health: HealthCheck{Path: "/up?deep", Interval: time.Millisecond, HealthyThreshold: 1, UnhealthyThreshold: 1}, StickyFor: time.Minute,
	}))
	require.NoError(t, s.Register("app", s.nodes["a"].addr, s.nodes["b"].addr))
	require.NoError(t, s.SetDefault(Forward{"app": 1}))
	receive(t, s.changes)
	receive(t, s.changes)
	return s
}

// ask sends the cookies and returns who answered, and the header of the answer.
func (s *stickyFarm) ask(cookies string) (name string, header http.Header) {
	s.t.Helper()
	res, name, _ := s.raw("GET / HTTP/1.1\r\nHost: app.example.com\r\nCookie: " + cookies + "\r\n\r\n")
	return name, res.Header
}

// stays reports whether all of several requests with the cookies go to name.
func (s *stickyFarm) stays(cookies, name string) bool {
	for range 5 {
		if by, _ := s.ask(cookies); by != name {
			return false
		}
	}
	return true
}

// value is that of the first cookie which header sets.
func value(header http.Header) string {
	_, v, _ := strings.Cut(header.Get("Set-Cookie"), "=")
	v, _, _ = strings.Cut(v, ";")
	return v
}

func TestAClientIsBoundToItsTarget(t *testing.T) {
	s := newStickyFarm(t)
	name, header := s.ask("theme=dark")
	v := value(header)
	assert.Equal(t, []string{
		"AWSALB=" + v + "; Expires=Tue, 14 Nov 2023 22:14:20 GMT; Path=/",
		"AWSALBCORS=" + v + "; Expires=Tue, 14 Nov 2023 22:14:20 GMT; Path=/; SameSite=None",
	}, header["Set-Cookie"])
	assert.NotContains(t, v, s.nodes[name].addr)

	assert.True(t, s.stays("AWSALB="+v, name))
	assert.True(t, s.stays("theme=dark; AWSALBCORS="+v, name), "one of the two will do")
	assert.True(t, s.stays("AWSALB=none; AWSALBCORS="+v, name))
	for why, cookies := range map[string]string{
		"no cookie": "theme=dark", "an empty one": "AWSALB=", "one that is cut": "AWSALB=" + v[:len(v)-4],
		"another name": "awsalb=" + v, "a forged end": "AWSALB=AAAC" + v[4:],
	} {
		assert.False(t, s.stays(cookies, name), why)
	}
}

func TestEachAnswerProlongsTheBond(t *testing.T) {
	s := newStickyFarm(t)
	name, header := s.ask("")
	v := value(header)
	s.passed.Store(59_999)
	require.True(t, s.stays("AWSALB="+v, name))
	_, header = s.ask("AWSALB=" + v)
	s.passed.Store(60_000)
	assert.False(t, s.stays("AWSALB="+v, name), "it has ended")
	assert.True(t, s.stays("AWSALB="+value(header), name))
}

func TestAClientIsBoundAnewWhereItsTargetIsIll(t *testing.T) {
	s := newStickyFarm(t)
	name, header := s.ask("")
	mine := "AWSALB=" + value(header)
	other := map[string]string{"a": "b", "b": "a"}[name]

	s.nodes[name].status.Store(503)
	require.Equal(t, StateUnhealthy, receive(t, s.changes).To)
	assert.True(t, s.stays(mine, other))
	_, header = s.ask(mine)
	s.nodes[name].status.Store(200)
	require.Equal(t, StateHealthy, receive(t, s.changes).To)
	assert.True(t, s.stays("AWSALB="+value(header), other), "it does not go back")

	require.NoError(t, s.Deregister("app", s.nodes[name].addr))
	assert.True(t, s.stays(mine, other), "a target that drains gets nobody")
}

func TestNobodyIsBoundWithoutStickiness(t *testing.T) {
	f := serveTargets(t, Config{}, newNode(t, "a").addr, newNode(t, "b").addr)
	res, _ := f.get("/")
	assert.Empty(t, res.Header["Set-Cookie"])
}
