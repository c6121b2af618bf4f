package gate

import (
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

const (
	gaps     = 5                // without an arrival for so many mean gaps, a node is quiet
	mostGaps = 30 * time.Second // however rare requests are, no longer than this
)

// Needed returns for how long nothing may have arrived at a node before it counts
// as quiet: least, or five times gap if that is longer, which counts for 30 s at
// most. gap is the node's figure, zero where it knows none.
func Needed(least time.Duration, gap cluster.Millis) time.Duration {
	gap = min(max(gap, 0), cluster.Millis(mostGaps.Milliseconds())) // or five of them may not fit
	return max(least, min(gaps*time.Duration(gap)*time.Millisecond, mostGaps))
}

// Quiet judges by the figures of a node, looked at one after the other, whether
// anything still arrives there. It is for one goroutine.
type Quiet struct {
	Least time.Duration // see [Needed]

	arrivals int64
	still    time.Time // when arrivals was first seen; zero before the first look
}

// See takes the node's figures as they are at that time, and reports whether the
// node is quiet: nothing is in flight, and for as long as is [Needed] nothing has
// arrived. Sessions are not asked for: only a drain waits for them. Times are of
// one clock, and do not go back.
func (q *Quiet) See(f cluster.Figures, at time.Time) bool {
	if q.still.IsZero() || f.Arrivals != q.arrivals {
		q.arrivals, q.still = f.Arrivals, at
	}
	return f.InFlight == 0 && at.Sub(q.still) >= Needed(q.Least, f.Gap)
}
