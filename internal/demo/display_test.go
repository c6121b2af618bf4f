package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/internal/traffic"
)

func TestAPlainDisplayTellsPhasesAndEveryFiveSeconds(t *testing.T) {
	var out strings.Builder
	d := NewDisplay(&out, false)
	d.Update(Progress{Phase: "starting"})
	d.Update(Progress{Phase: "starting", Elapsed: 4999 * time.Millisecond})
	d.Update(Progress{Phase: "starting", Elapsed: 5 * time.Second})
	d.Update(Progress{Phase: "pausing blue", Elapsed: 6 * time.Second, Requests: 10, Failed: 1, Redirected: 2, NodesDeployed: 3, NodesTotal: 6})
	d.Update(Progress{Phase: "pausing blue", Elapsed: 7 * time.Second, NodesTotal: 6})
	assert.Equal(t, `  0s starting
  5s starting
  6s pausing blue      10 requests, 1 failed, 2 redirected, 3/6 nodes
`, out.String())
}

func TestALiveDisplayRedrawsOneLine(t *testing.T) {
	var out strings.Builder
	d := NewDisplay(&out, true)
	d.Update(Progress{Phase: "starting"})
	d.Update(Progress{Phase: "deploying green-1", Elapsed: 999 * time.Second, Requests: 99_999, Redirected: 9999, NodesDeployed: 3, NodesTotal: 6})
	d.End()
	assert.Equal(t, []string{
		"", "\x1b[?7l[----------]   0s starting\x1b[?7h",
		"\x1b[?7l[#####-----] 999s deploying green-1 99999 requests, 0 failed, 9999 redirected\x1b[?7h", "",
	}, strings.Split(out.String(), "\r\x1b[K"), "a narrow terminal cuts it off")
	for _, line := range strings.Split(out.String(), "\r\x1b[K") {
		assert.Less(t, len(line)-len("\x1b[?7l\x1b[?7h"), 80, "it fits in a line of 80 columns")
	}
}

func TestTheBarIsFullOnlyAtTheEnd(t *testing.T) {
	for _, row := range []struct {
		name        string
		done, total int
		want        string
	}{
		{"nothing is known", 0, 0, "[----------]"},
		{"nothing is done", 0, 6, "[----------]"},
		{"all but one are done", 5, 6, "[########--]"},
		{"all are done", 6, 6, "[##########]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, bar(Progress{NodesDeployed: row.done, NodesTotal: row.total}))
		})
	}
}

func TestTheVerdict(t *testing.T) {
	well := traffic.Result{Requests: 5348, OK: 5348, Redirected: 740, NodesDeployed: 6, P50MS: 0.866, P99MS: 79.36, DurationS: 21.4}
	assert.Equal(t, `This deployment lost none of 5348 requests, and no byte of a body.

  deployed    6 nodes, each stopped and started as a new version, in 21 s under load
  requests    5348: 5348 ok, 0 failed (0 with 503, 0 with a wrong body)
  redirected  740, by 307 to a healthy node
  latency     p50 0.9 ms, p99 79.4 ms, redirects included
`, Verdict(well, false))

	bad := traffic.Result{Requests: 10, OK: 7, Failed: 3, Unavailable: 1, BodyMismatches: 1, Failures: []traffic.Failure{
		{OffsetS: 2.5, Method: "GET", URL: "http://a/", Status: 503, Phase: "deploying blue"},
		{OffsetS: 12.25, Method: "POST", URL: "http://b/", Status: 200, Error: "wrong body", Phase: "resuming blue"},
	}}
	text := Verdict(bad, false)
	assert.True(t, strings.HasPrefix(text, "This deployment lost 3 of 10 requests.\n"), text)
	assert.True(t, strings.HasSuffix(text, `
The first 2 of 3 failures:
    2.50s deploying blue    GET http://a/: status 503
   12.25s resuming blue     POST http://b/: wrong body
`), text)

	assert.Equal(t, "No request was made.", headline(traffic.Result{}, false))
	assert.Equal(t, "Without Detour this deployment lost 3 of 10 requests.", headline(bad, true))
	assert.Equal(t, "Without Detour this deployment lost no request this time.", headline(well, true))
}
