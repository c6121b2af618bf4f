package gate

import (
	"sync/atomic"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// Counter counts the requests of a node. It is safe for concurrent use. Times
// are of this machine's wall clock.
type Counter struct {
	began    time.Time
	inFlight atomic.Int64
	arrivals atomic.Int64
	last     atomic.Int64                   // the last arrival, in ms since the Unix epoch; zero before the first
	seconds  [2 * minute]atomic.Uint64      // arrivals of each of the last seconds, see second
	frozen   atomic.Pointer[cluster.Millis] // the gap at the pause; nil while there is none
}

const minute = 60 // seconds

// NewCounter returns a counter that has counted nothing since now.
func NewCounter(now time.Time) *Counter { return &Counter{began: now} }

// Arrive counts a request that arrived now, whatever becomes of it.
func (c *Counter) Arrive(now time.Time) {
	c.arrivals.Add(1)
	c.last.Store(now.UnixMilli())
	c.tally(now, 1)
}

// retract takes back the latest Arrive, which was at that time: it was no
// request. The time of the last arrival before comes back too, unless another
// request arrived since.
func (c *Counter) retract(at time.Time, before cluster.Millis) {
	c.arrivals.Add(-1)
	c.last.CompareAndSwap(at.UnixMilli(), int64(before))
	c.tally(at, -1)
}

// Enter counts a request in, Leave counts it out.
func (c *Counter) Enter() { c.inFlight.Add(1) }

// Leave ends what Enter began.
func (c *Counter) Leave() { c.inFlight.Add(-1) }

// Pause keeps the mean gap as it is now until Resume: what arrives during a pause
// says nothing of how often requests came before. A second Pause changes nothing.
func (c *Counter) Pause(now time.Time) {
	gap := c.gap(now)
	c.frozen.CompareAndSwap(nil, &gap)
}

// Resume lets the mean gap follow what arrives again.
func (c *Counter) Resume() { c.frozen.Store(nil) }

// Figures returns what c has counted. Load is what is in flight, LastArrival is of
// the wall clock, the gap is that of the minute before now, or before the pause.
func (c *Counter) Figures(now time.Time) cluster.Figures {
	inFlight := c.inFlight.Load()
	f := cluster.Figures{
		Load: float64(inFlight), InFlight: inFlight, Arrivals: c.arrivals.Load(),
		LastArrival: cluster.Millis(c.last.Load()), Gap: c.gap(now),
	}
	if frozen := c.frozen.Load(); frozen != nil {
		f.Gap = *frozen
	}
	return f
}

// A second's arrivals are kept as one number: which second it is in the upper
// half, how many in the lower one. It replaces the second that lay two minutes
// before.
func (c *Counter) tally(at time.Time, n int64) {
	second := uint32(at.Unix())
	slot := &c.seconds[second%uint32(len(c.seconds))]
	for {
		old := slot.Load()
		var count int64
		if uint32(old>>32) == second {
			count = int64(uint32(old))
		}
		if slot.CompareAndSwap(old, uint64(second)<<32|uint64(max(count+n, 0))) {
			return
		}
	}
}

// gap returns the mean time between two arrivals of the minute before now, or of
// all the time since c began if that is less, rounded up; zero if none arrived.
func (c *Counter) gap(now time.Time) cluster.Millis {
	second := uint32(now.Unix())
	var count int64
	for i := range c.seconds {
		slot := c.seconds[i].Load()
		if second-uint32(slot>>32) < minute {
			count += int64(uint32(slot))
		}
	}
	if count == 0 {
		return 0
	}
	span := min(max(now.Sub(c.began), time.Second), minute*time.Second).Milliseconds()
	return cluster.Millis((span + count - 1) / count)
}
