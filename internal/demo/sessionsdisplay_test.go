package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/internal/shop"
	"github.com/detourhq/detour/internal/traffic"
	"github.com/detourhq/detour/pkg/cluster"
)

func TestTheSessionsVerdict(t *testing.T) {
	well := shop.Result{
		Requests: 5007, OK: 5007, Logins: 524, Sessions: 47, Drained: 3, Redirected: 64,
		P50MS: 0.6, P99MS: 4.21, DurationS: 21.2,
	}
	assert.Equal(t, `This deployment lost no session, and none of 5007 requests.

  sessions    47 lived on the nodes that obeyed a pause: 0 lost; 0 were still there when their node was stopped
  newcomers   524 logged in, 0 of them at a node that was known to be paused
  nodes       3 were empty when they were stopped, in 21 s under load
  requests    5007: 5007 ok, 0 failed; 64 redirected
  latency     p50 0.6 ms, p99 4.2 ms, redirects included
`, SessionsVerdict(well, SessionsConfig{}))

	bad := shop.Result{Requests: 10, OK: 8, Failed: 1, SessionsLost: 1, Failures: []traffic.Failure{
		{OffsetS: 2.5, Method: "POST", URL: "http://a/cart", Status: 401, Error: "the session of n1 is gone", Phase: "draining n1"},
	}}
	text := SessionsVerdict(bad, SessionsConfig{})
	assert.True(t, strings.HasSuffix(text, `
The first 1 of 2 failures and lost sessions:
    2.50s draining n1       POST http://a/cart: the session of n1 is gone
`), text)
}

func TestTheSessionsHeadline(t *testing.T) {
	for _, row := range []struct {
		r    shop.Result
		c    SessionsConfig
		want string
		kept bool
	}{
		{shop.Result{}, SessionsConfig{}, "No request was made.", true},
		{shop.Result{Requests: 9, Failed: 2}, SessionsConfig{}, "This deployment lost 2 of 9 requests.", false},
		{shop.Result{Requests: 9, Failed: 2, NewcomersAtDrained: 1}, SessionsConfig{}, "1 newcomers were served by a node that was known to be paused.", false},
		{shop.Result{Requests: 9, SessionsLost: 3, LostEarly: 3}, SessionsConfig{}, "This deployment lost 3 sessions that should have stayed.", false},
		{shop.Result{Requests: 9, SessionsLost: 3, LostEarly: 1}, SessionsConfig{Deadline: time.Second}, "This deployment lost 1 sessions that should have stayed.", false},
		{shop.Result{Requests: 9, SessionsLost: 3}, SessionsConfig{Deadline: time.Second}, "This deployment lost 3 sessions, all of them after the deadline of 1s.", true},
		{shop.Result{Requests: 9, SessionsLost: 3}, SessionsConfig{Mode: cluster.Redirect}, "With mode redirect this deployment lost 3 sessions.", true},
	} {
		assert.Equal(t, row.want, sessionsHeadline(row.r, row.c))
		assert.Equal(t, row.kept, row.r.Kept(), row.want)
	}
}
