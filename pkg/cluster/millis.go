package cluster

import (
	"math"
	"time"
)

// Millis is an instant of the registry's clock in milliseconds since the Unix
// epoch. Zero means never, or none. It is a type of its own so that no other
// clock is compared with it by mistake.
type Millis int64

// Add returns m moved by d, rounded down to a millisecond.
func (m Millis) Add(d time.Duration) Millis { return m + Millis(d.Milliseconds()) }

// Sub returns how much later m is than o; negative if it is earlier. Beyond the
// 292 years that a Duration holds it returns the longest or shortest one.
func (m Millis) Sub(o Millis) time.Duration {
	const most = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(min(max(int64(m)-int64(o), -most), most)) * time.Millisecond
}

// forever is later than any instant that the registry will see: a stamp that
// never ages. It is the greatest integer that a Redis score holds exactly.
const forever Millis = 1<<53 - 1

// Time returns m as a UTC time.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }
