package shop

import "github.com/detourhq/detour/internal/traffic"

// Result is what became of all requests and sessions. OK, Failed and SessionsLost add
// up to Requests: each session is found lost by one request, and its customer leaves.
type Result struct {
	Requests int `json:"requests"` // sent and ended
	OK       int `json:"ok"`       // 200 with the cart that it should be
	Failed   int `json:"failed"`   // everything else, lost sessions apart
	Logins   int `json:"logins"`   // customers who got a session

	// Sessions is for who deploys: how many lived on the nodes when those obeyed their
	// pauses. All of them are at stake.
	Sessions     int `json:"sessions"`
	SessionsLost int `json:"sessions_lost"` // 401, or an empty cart that should not be

	// NewcomersAtDrained counts logins that a node served though they were sent after
	// it was known to obey its pause.
	NewcomersAtDrained int `json:"newcomers_at_drained"`

	// Drained and Forced are for who deploys: nodes that were stopped when their last
	// session had ended, and sessions that nodes still held when they were stopped.
	Drained int `json:"drained"`
	Forced  int `json:"forced"`

	// Percentiles of the time from sending a request to the last byte of its answer,
	// redirects included, over all requests.
	P50MS float64 `json:"p50_ms"`
	P99MS float64 `json:"p99_ms"`

	DurationS float64           `json:"duration_s"` // of the load, in seconds
	Failures  []traffic.Failure `json:"failures"`   // the first 20, lost sessions among them; never null

	Redirected int `json:"-"` // requests that followed a 307 at least once

	// LostEarly are those of SessionsLost that no pause had the right to end: see
	// [Tally.Release].
	LostEarly int `json:"-"`
}

// Kept reports whether a drain kept its word: no request failed, no session was lost
// before it might be, and no newcomer met a node that drains.
func (r *Result) Kept() bool {
	return r.Failed == 0 && r.LostEarly == 0 && r.NewcomersAtDrained == 0
}
