package traffic

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPercentilesAreByNearestRank(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(i+1)*time.Millisecond)
	}
	for _, row := range []struct {
		name  string
		times []time.Duration
		p     float64
		want  float64
	}{
		{"none has none", nil, 50, 0},
		{"of one all are the same", hundred[6:7], 99, 7},
		{"the least of one too", hundred[6:7], 0, 7},
		{"half of two is the first", hundred[:2], 50, 1},
		{"a little more is the second", hundred[:2], 50.1, 2},
		{"the median of a hundred", hundred, 50, 50},
		{"the 99th of a hundred", hundred, 99, 99},
		{"a little more is the last", hundred, 99.1, 100},
		{"all", hundred, 100, 100},
		{"microseconds are told", []time.Duration{1_234_567}, 50, 1.235},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.InDelta(t, row.want, percentile(row.times, row.p), 1e-9)
		})
	}
}

func TestTimesNeedNotBeSorted(t *testing.T) {
	times := []time.Duration{3 * time.Millisecond, time.Millisecond, 2 * time.Millisecond}
	r := Result{}.withTimes(times)
	assert.InDelta(t, 2, r.P50MS, 1e-9)
	assert.InDelta(t, 3, r.P99MS, 1e-9)
	assert.Equal(t, 3*time.Millisecond, times[0], "and stay as they are")
}

func TestATallyCountsEachOutcomeOnce(t *testing.T) {
	began := time.Unix(1000, 0)
	tl := NewTally(began)
	add := func(o outcome) { tl.add(o, began.Add(1500*time.Millisecond), "draining blue") }
	add(outcome{status: 200})
	add(outcome{status: 200, redirected: true})
	add(outcome{status: 503, method: "GET", url: "http://a/"})
	add(outcome{status: 502, redirected: true})
	add(outcome{status: 200, mismatch: true, err: errors.New("wrong body")})
	add(outcome{err: errors.New("refused")})
	for range 30 {
		add(outcome{status: 504})
	}
	r := tl.Final(began.Add(2 * time.Second))
	assert.Len(t, r.Failures, 20)
	assert.Equal(t, Failure{OffsetS: 1.5, Method: "GET", URL: "http://a/", Status: 503, Phase: "draining blue"}, r.Failures[0])
	assert.Equal(t, "wrong body", r.Failures[2].Error)
	r.Failures = nil
	assert.Equal(t, Result{Requests: 36, OK: 2, Failed: 34, Redirected: 2, Unavailable: 1, BodyMismatches: 1, DurationS: 2}, r)
}

func TestTheJSONOfAResult(t *testing.T) {
	text, err := json.Marshal(NewTally(time.Now()).Final(time.Now()))
	require.NoError(t, err)
	assert.Contains(t, string(text), `"failures":[]`)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(text, &fields))
	var names []string
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	assert.Equal(t, []string{
		"body_mismatches", "duration_s", "failed", "failures", "nodes_deployed", "ok", "p50_ms", "p99_ms",
		"redirected", "requests", "unavailable",
	}, names)
}
