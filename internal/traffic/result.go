package traffic

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Result is what became of all requests. OK and Failed add up to Requests.
type Result struct {
	Requests       int `json:"requests"`        // sent and ended
	OK             int `json:"ok"`              // 200 with the right body
	Failed         int `json:"failed"`          // everything else
	Redirected     int `json:"redirected"`      // followed a 307 at least once
	Unavailable    int `json:"unavailable"`     // of Failed: 503
	BodyMismatches int `json:"body_mismatches"` // of Failed: 200 with a wrong body

	// NodesDeployed is for who deploys meanwhile: nodes that ran the newest version
	// at the end.
	NodesDeployed int `json:"nodes_deployed"`

	// Percentiles of the time from sending a request to the last byte of its
	// answer, redirects included, over all requests. The clients send without
	// waiting for answers, so that a slow one delays none.
	P50MS float64 `json:"p50_ms"`
	P99MS float64 `json:"p99_ms"`

	DurationS float64   `json:"duration_s"` // of the load, in seconds
	Failures  []Failure `json:"failures"`   // the first 20; never null
}

// Failure is one request that failed: Error says why, unless Status does.
type Failure struct {
	OffsetS float64 `json:"offset_s"` // when it ended, in seconds since the load began
	Method  string  `json:"method"`
	URL     string  `json:"url"` // the last one, after redirects
	Status  int     `json:"status,omitempty"`
	Error   string  `json:"error,omitempty"`
	Phase   string  `json:"phase"` // of the deployment, when it ended
}

// String tells f in one line.
func (f Failure) String() string {
	why := f.Error
	if why == "" {
		why = fmt.Sprintf("status %d", f.Status)
	}
	return fmt.Sprintf("%6.2fs %-17s %s %s: %s", f.OffsetS, f.Phase, f.Method, f.URL, why)
}

// maxFailures is how many failures are told one by one.
const maxFailures = 20

// percentile returns the smallest of sorted that at least p percent of them do
// not exceed (nearest rank), in milliseconds; 0 of none.
func percentile(sorted []time.Duration, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return milliseconds(sorted[max(rank, 1)-1])
}

// milliseconds returns d to the microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Round(time.Microsecond)) / 1e6 }

// seconds returns d to the millisecond.
func seconds(d time.Duration) float64 { return float64(d.Round(time.Millisecond)) / 1e9 }

// withTimes fills in the percentiles.
func (r Result) withTimes(times []time.Duration) Result {
	r.P50MS, r.P99MS = Percentiles(times)
	return r
}

// Percentiles returns the 50th and the 99th percentile of times, in milliseconds.
func Percentiles(times []time.Duration) (p50, p99 float64) {
	sorted := slices.Sorted(slices.Values(times))
	return percentile(sorted, 50), percentile(sorted, 99)
}
