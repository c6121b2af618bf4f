package shop

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/detourhq/detour/internal/traffic"
)

// outcome is what became of one request.
type outcome struct {
	method, url string // the last URL, after redirects
	status      int    // 0 if no answer came
	err         error  // what is wrong; nil if nothing is
	lost        bool   // the session is gone
	redirected  bool
	took        time.Duration

	session Life // where the session lives; zero at a login
	by      Life // who served it; zero if it was not the application
	login   bool
	closed  map[Life]bool // to newcomers, when it was sent
}

// Tally counts outcomes, and knows from whoever deploys what a pause asks of each life
// of a node. It is safe for concurrent use.
type Tally struct {
	began time.Time

	mu       sync.Mutex // guards the following
	result   Result
	times    []time.Duration
	closed   map[Life]bool      // replaced when it changes, never written to
	released map[Life]time.Time // from when sessions may be lost
}

// NewTally returns a tally of a load that began then.
func NewTally(began time.Time) *Tally {
	return &Tally{began: began, result: Result{Failures: []traffic.Failure{}}, released: make(map[Life]time.Time)}
}

// Close says that l obeys a pause: whoever sends a login from now on is to be served
// by another one.
func (t *Tally) Close(l Life) {
	t.mu.Lock()
	defer t.mu.Unlock()
	closed := maps.Clone(t.closed)
	if closed == nil {
		closed = make(map[Life]bool)
	}
	closed[l] = true
	t.closed = closed
}

// Release says that the sessions of l may be lost from that time on.
func (t *Tally) Release(l Life, from time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.released[l] = from
}

// Deployed counts what became of one node: how many sessions it had when it obeyed its
// pause, and when it was stopped.
func (t *Tally) Deployed(paused, stopped int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result.Sessions += paused
	t.result.Forced += stopped
	if stopped == 0 {
		t.result.Drained++
	}
}

// closedNow returns the lives that are closed to newcomers.
func (t *Tally) closedNow() map[Life]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// add counts o, which ended at now, in that phase.
func (t *Tally) add(o outcome, now time.Time, phase string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &t.result
	r.Requests++
	t.times = append(t.times, o.took)
	if o.redirected {
		r.Redirected++
	}
	if o.login && o.closed[o.by] {
		r.NewcomersAtDrained++
	}
	switch {
	case o.err == nil:
		r.OK++
		if o.login {
			r.Logins++
		}
		return
	case o.lost:
		r.SessionsLost++
		if from, ok := t.released[o.session]; !ok || now.Before(from) {
			r.LostEarly++
		}
	default:
		r.Failed++
	}
	if len(r.Failures) < maxFailures {
		r.Failures = append(r.Failures, traffic.Failure{
			OffsetS: float64(now.Sub(t.began).Milliseconds()) / 1000, Method: o.method, URL: o.url,
			Status: o.status, Error: o.err.Error(), Phase: phase,
		})
	}
}

// maxFailures is how many failures are told one by one.
const maxFailures = 20

// Counts returns the result so far, without percentiles and failures.
func (t *Tally) Counts() Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.result
	r.Failures = nil
	return r
}

// Final returns the result at now.
func (t *Tally) Final(now time.Time) Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.result
	r.Failures = slices.Clone(r.Failures)
	r.P50MS, r.P99MS = traffic.Percentiles(t.times)
	r.DurationS = float64(now.Sub(t.began).Milliseconds()) / 1000
	return r
}
