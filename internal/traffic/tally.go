package traffic

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// outcome is what became of one request.
type outcome struct {
	method     string
	url        string // the last one, after redirects
	redirected bool
	status     int   // 0 if no answer came
	err        error // no answer, or a wrong body; nil even if status is not 200
	mismatch   bool  // the body is wrong
	took       time.Duration
}

func (o *outcome) failed() bool { return o.err != nil || o.status != http.StatusOK }

// Tally counts outcomes. It is safe for concurrent use.
type Tally struct {
	began time.Time

	mu     sync.Mutex // guards the following
	result Result
	times  []time.Duration
}

// NewTally returns a tally of a load that began then.
func NewTally(began time.Time) *Tally {
	return &Tally{began: began, result: Result{Failures: []Failure{}}}
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
	if !o.failed() {
		r.OK++
		return
	}
	r.Failed++
	if o.mismatch {
		r.BodyMismatches++
	}
	if o.status == http.StatusServiceUnavailable {
		r.Unavailable++
	}
	if len(r.Failures) < maxFailures {
		f := Failure{OffsetS: seconds(now.Sub(t.began)), Method: o.method, URL: o.url, Status: o.status, Phase: phase}
		if o.err != nil {
			f.Error = o.err.Error()
		}
		r.Failures = append(r.Failures, f)
	}
}

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
	r := t.result.withTimes(t.times)
	r.Failures = slices.Clone(r.Failures)
	r.DurationS = seconds(now.Sub(t.began))
	return r
}
