package gate

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/pkg/cluster"
)

var began = time.Unix(1_700_000_000, 0)

func after(seconds float64) time.Time {
	return began.Add(time.Duration(seconds * float64(time.Second)))
}

func TestTheMeanGapIsThatOfTheMinuteBefore(t *testing.T) {
	for _, c := range []struct {
		name  string
		every float64 // seconds between two arrivals
		until float64
		asked float64
		want  cluster.Millis
	}{
		{"none for who never saw a request", 1, 0, 100, 0},
		{"a second", 1, 300, 300, 1000},
		{"rounded up to a millisecond", 0.0005, 5, 5, 1},
		{"a young counter has had less than a minute", 1, 10, 10, 1000},
		{"two in the minute", 30, 299, 299, 30_000},
		{"nothing within the minute is none", 1, 100, 160, 0},
		{"half a minute of silence counts", 0.5, 100, 130, 1000},
		{"what lay two minutes before does not come back", 1, 60, 180, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			counter := NewCounter(began)
			for i := 1; float64(i)*c.every <= c.until; i++ {
				counter.Arrive(after(float64(i) * c.every))
			}
			assert.InDelta(t, float64(c.want), float64(counter.Figures(after(c.asked)).Gap), float64(c.want)/20)
		})
	}
}

func TestAPauseKeepsTheGapAsItWas(t *testing.T) {
	c := NewCounter(began)
	for i := range 60 {
		c.Arrive(after(float64(i)))
	}
	c.Pause(after(60))
	for range 100 {
		c.Arrive(after(70))
	}
	c.Pause(after(71)) // of another mode
	assert.EqualValues(t, 1017, c.Figures(after(200)).Gap)
	c.Resume()
	assert.Zero(t, c.Figures(after(200)).Gap)
	assert.EqualValues(t, after(70).UnixMilli(), c.Figures(after(200)).LastArrival)
	assert.EqualValues(t, 160, c.Figures(after(200)).Arrivals)
}

func TestWhatWasNoRequestIsTakenBack(t *testing.T) {
	c := NewCounter(began)
	c.Arrive(after(1))
	before := c.Figures(after(2))
	c.Arrive(after(2))
	c.retract(after(2), before.LastArrival)
	assert.Equal(t, before, c.Figures(after(2)))

	c.Arrive(after(3))
	c.Arrive(after(4))
	c.retract(after(3), before.LastArrival)
	assert.EqualValues(t, after(4).UnixMilli(), c.Figures(after(4)).LastArrival, "a later one stays")
}

func TestACounterCountsEachOfManyAtOnce(t *testing.T) {
	c := NewCounter(began)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				c.Enter()
				c.Arrive(after(1))
				c.Leave()
			}
		})
	}
	all.Wait()
	assert.Equal(t, cluster.Figures{Arrivals: 8000, LastArrival: cluster.Millis(after(1).UnixMilli()), Gap: 1}, c.Figures(after(2)))
}

func TestHowLongNothingMayArrive(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name  string
		least time.Duration
		gap   cluster.Millis
		want  time.Duration
	}{
		{"the least, where no gap is known", 2 * s, 0, 2 * s},
		{"the least, where requests are frequent", 2 * s, 400, 2 * s},
		{"five gaps, if that is longer", 2 * s, 401, 2005 * time.Millisecond},
		{"up to thirty seconds", 2 * s, 6000, 30 * s},
		{"and no longer", 2 * s, 6001, 30 * s},
		{"however long the gap", 2 * s, 1 << 62, 30 * s},
		{"but who asks for more gets it", 60 * s, 6000, 60 * s},
		{"a gap below zero is none", 0, -5, 0},
	} {
		assert.Equal(t, c.want, Needed(c.least, c.gap), c.name)
	}
}

func TestQuietIsWhenNothingArrivesAndNothingIsInFlight(t *testing.T) {
	q := Quiet{Least: 2 * time.Second}
	for _, look := range []struct {
		at   float64
		f    cluster.Figures
		want bool
	}{
		{0, cluster.Figures{Arrivals: 5}, false},
		{1.9, cluster.Figures{Arrivals: 5}, false},
		{1.95, cluster.Figures{Arrivals: 6}, false},
		{3.94, cluster.Figures{Arrivals: 6}, false},
		{3.95, cluster.Figures{Arrivals: 6, InFlight: 1}, false}, // postgresml/pgcat#917
		{4, cluster.Figures{Arrivals: 6, Gap: 1000}, false},
		{4.1, cluster.Figures{Arrivals: 6}, true},
		{4.2, cluster.Figures{Arrivals: 2}, false}, // counted anew
		{6.2, cluster.Figures{Arrivals: 2}, true},
	} {
		assert.Equal(t, look.want, q.See(look.f, after(look.at)), "at %g", look.at)
	}
}
