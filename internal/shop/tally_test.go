package shop

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	began = time.UnixMilli(1_700_000_000_000)
	first = Life{Node: "n1", Version: "1"}
	later = Life{Node: "n1", Version: "2"}
	other = Life{Node: "n2", Version: "1"}
)

func TestOutcomesAreCounted(t *testing.T) {
	tl := NewTally(began)
	for _, o := range []outcome{
		{login: true, by: first, took: time.Millisecond},
		{session: first, by: first, took: 2 * time.Millisecond, redirected: true},
		{session: first, lost: true, status: 401, err: errors.New("gone"), method: "GET", url: "http://a/cart"},
		{session: first, status: 500, err: errors.New("status 500")},
		{login: true, err: errors.New("refused")},
	} {
		tl.add(o, began.Add(1500*time.Millisecond), "draining n1")
	}
	tl.Deployed(3, 0)
	tl.Deployed(4, 2)
	r := tl.Final(began.Add(2 * time.Second))
	assert.Equal(t, []int{5, 2, 2, 1, 1, 1}, []int{r.Requests, r.OK, r.Failed, r.Logins, r.SessionsLost, r.Redirected})
	assert.Equal(t, []int{7, 1, 2}, []int{r.Sessions, r.Drained, r.Forced})
	assert.InDelta(t, 2, r.P99MS, 0)
	assert.InDelta(t, 2, r.DurationS, 0)
	assert.Len(t, r.Failures, 3)
	assert.Equal(t, "  1.50s draining n1       GET http://a/cart: gone", r.Failures[0].String())
	assert.Nil(t, tl.Counts().Failures)

	for range 2 * maxFailures {
		tl.add(outcome{err: errors.New("refused")}, began, "")
	}
	assert.Len(t, tl.Final(began).Failures, maxFailures)
	assert.NotNil(t, NewTally(began).Final(began).Failures)
}

func TestALoginCountsWhereItsNodeWasClosedWhenItWasSent(t *testing.T) {
	tl := NewTally(began)
	before := tl.closedNow()
	tl.Close(first)
	tl.Close(other)
	for _, row := range []struct {
		name string
		o    outcome
		want int
	}{
		{"sent before", outcome{login: true, by: first, closed: before}, 0},
		{"sent after", outcome{login: true, by: first, closed: tl.closedNow()}, 1},
		{"at the next life", outcome{login: true, by: later, closed: tl.closedNow()}, 0},
		{"at another one that is closed", outcome{login: true, by: other, closed: tl.closedNow()}, 1},
		{"by nobody", outcome{login: true, closed: tl.closedNow(), err: errors.New("refused")}, 0},
		{"a session", outcome{session: first, by: first, closed: tl.closedNow()}, 0},
	} {
		had := tl.Counts().NewcomersAtDrained
		tl.add(row.o, began, "")
		assert.Equal(t, row.want, tl.Counts().NewcomersAtDrained-had, row.name)
	}
}

func TestASessionIsLostEarlyBeforeItsNodeReleasesIt(t *testing.T) {
	tl := NewTally(began)
	tl.Release(first, began.Add(time.Second))
	for _, row := range []struct {
		name    string
		session Life
		at      time.Duration
		want    int
	}{
		{"a moment before", first, time.Second - 1, 1},
		{"then", first, time.Second, 0},
		{"of a node that is not paused", other, time.Hour, 1},
		{"of the next life", later, time.Hour, 1},
	} {
		had := tl.Counts().LostEarly
		tl.add(outcome{session: row.session, lost: true, err: errors.New("gone")}, began.Add(row.at), "")
		assert.Equal(t, row.want, tl.Counts().LostEarly-had, row.name)
	}
}

// Programs read it.
func TestTheFieldsOfAResult(t *testing.T) {
	text, err := json.Marshal(NewTally(began).Final(began))
	require.NoError(t, err)
	assert.Equal(t, `{"requests":0,"ok":0,"failed":0,"logins":0,"sessions":0,"sessions_lost":0,"newcomers_at_drained":0,`+
		`"drained":0,"forced":0,"p50_ms":0,"p99_ms":0,"duration_s":0,"failures":[]}`, string(text))
}
