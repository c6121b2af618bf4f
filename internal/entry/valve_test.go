package entry

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/agent"
	"github.com/detourhq/detour/pkg/cluster"
)

// fake is a gate's socket whose requests are made up.
type fake struct {
	mu        sync.Mutex // guards paused
	paused    bool
	figures   func() cluster.Figures
	reporters int
}

func (f *fake) Set(paused bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.paused = paused
}

func (f *fake) isPaused() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.paused
}

func (f *fake) Figures() cluster.Figures { return f.figures() }

func (f *fake) Reporters() int { return f.reporters }

// journal keeps what is written to it.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func counted(f cluster.Figures) func() cluster.Figures {
	return func() cluster.Figures { return f }
}

func newValve(t *testing.T, f *fake, log *journal) *Valve {
	return NewValve(t.Context(), f, "n1", 2*time.Second, slog.New(slog.NewTextHandler(log, nil)))
}

func cover(mode cluster.Mode) agent.Cover {
	return agent.Cover{Paused: true, On: cluster.GroupTarget("blue"), Pause: cluster.Pause{Mode: mode, By: "ops", Epoch: 7}}
}

func TestTheGateFollowsThePauses(t *testing.T) {
	own := agent.Cover{Paused: true, On: cluster.NodeTarget("n1"), Pause: cluster.Pause{Mode: cluster.Redirect, By: "n1"}}
	for _, row := range []struct {
		name         string
		before       bool
		ending       bool
		cover        agent.Cover
		paused, said bool // at once
		quiet        bool // when nothing has arrived for the time that is needed
	}{
		{"redirect withholds the GO of a quiet node", false, false, cover(cluster.Redirect), false, true, true},
		{"hold does at once", false, false, cover(cluster.Hold), true, true, true},
		{"stop does", false, false, cover(cluster.Stop), true, true, true},
		{"drain serves those that stay", false, false, cover(cluster.Drain), false, true, false},
		{"a hold that becomes a drain lets go", true, false, cover(cluster.Drain), false, true, false},
		{"a resume lets go", true, false, agent.Cover{}, false, false, false},
		{"the node's own word is as redirect", false, false, own, false, true, true},
		{"but not when the node ends", false, true, own, false, false, false},
		{"which does not lift another's pause", true, true, own, true, false, true},
		{"nor does an operator's redirect, which would have no end", false, true, cover(cluster.Redirect), false, true, false},
		{"an operator's hold of a node that ends withholds it", false, true, cover(cluster.Hold), true, true, true},
		{"a resume of a node that ends lets go", true, true, agent.Cover{}, false, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log journal
				f := &fake{paused: row.before, figures: counted(cluster.Figures{})}
				v := newValve(t, f, &log)
				if row.ending {
					v.end()
				}
				v.Obey(row.cover)
				assert.Equal(t, row.paused, f.isPaused())
				assert.Equal(t, row.said, log.String() != "", "that nobody asks the gate is said at a pause")
				time.Sleep(2*time.Second + 2*lookEvery)
				assert.Equal(t, row.quiet, f.isPaused())
			})
		})
	}
}

// A load balancer that lags sends requests that nobody else would answer.
func TestARedirectServesWhatStillArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{figures: busy(10*time.Second, 0, 100)}
		v := newValve(t, f, &journal{})
		v.Obey(cover(cluster.Redirect))
		time.Sleep(11 * time.Second)
		assert.False(t, f.isPaused(), "the last arrival was a second ago")
		assert.EqualValues(t, 100, v.Figures().Gap, "of the time before the pause")
		time.Sleep(1500 * time.Millisecond)
		assert.True(t, f.isPaused())
		assert.EqualValues(t, 100, v.Figures().Gap)
		v.Obey(agent.Cover{})
		assert.False(t, f.isPaused())
		assert.Greater(t, v.Figures().Gap, cluster.Millis(100))
	})
}

func TestAResumeBeforeTheNodeIsQuietLeavesTheGateOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{figures: counted(cluster.Figures{Arrivals: 1})}
		v := newValve(t, f, &journal{})
		v.Obey(cover(cluster.Redirect))
		time.Sleep(time.Second)
		v.Obey(agent.Cover{})
		time.Sleep(time.Minute)
		assert.False(t, f.isPaused())
	})
}

// Work has begun behind a node that was quiet: another reason, or another end, of its
// pause must let nobody in.
func TestAQuietNodesGateStaysClosedWhileItsPauseIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{figures: counted(cluster.Figures{Arrivals: 1})}
		v := newValve(t, f, &journal{})
		v.Obey(cover(cluster.Redirect))
		time.Sleep(2*time.Second + 2*lookEvery)
		require.True(t, f.isPaused())
		longer := cover(cluster.Redirect)
		longer.Epoch++
		for _, again := range []agent.Cover{longer, cover(cluster.Redirect)} {
			v.Obey(again)
			assert.True(t, f.isPaused())
		}
		v.Obey(cover(cluster.Drain))
		assert.False(t, f.isPaused(), "sessions that stay must be served")
		v.Obey(longer)
		assert.False(t, f.isPaused(), "and anew nobody is shut out before it is quiet")
	})
}

// What waits at a node that ends has nothing to wait for.
func TestTheEndLetsInWhatARedirectKeptOut(t *testing.T) {
	for name, quiet := range map[string]time.Duration{"that was quiet": 2*time.Second + 2*lookEvery, "that was about to be": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{figures: counted(cluster.Figures{Arrivals: 1})}
				v := newValve(t, f, &journal{})
				v.Obey(cover(cluster.Redirect))
				time.Sleep(quiet)
				v.end()
				assert.False(t, f.isPaused())
				time.Sleep(time.Minute)
				assert.False(t, f.isPaused())
			})
		})
	}
}

func TestNoWarningWhereTheGateIsAsked(t *testing.T) {
	for name, f := range map[string]*fake{
		"by requests":   {figures: counted(cluster.Figures{Arrivals: 1})},
		"by a reporter": {figures: counted(cluster.Figures{}), reporters: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var log journal
			newValve(t, f, &log).Obey(cover(cluster.Redirect))
			assert.Empty(t, log.String())
		})
	}
}

// busy returns figures of a node at which something arrives each second for a
// while, and is in flight for longer.
func busy(arrivals, inFlight time.Duration, gap cluster.Millis) func() cluster.Figures {
	began := time.Now()
	return func() cluster.Figures {
		since := time.Since(began)
		f := cluster.Figures{Arrivals: 1 + int64(min(since, arrivals)/time.Second), Gap: gap + cluster.Millis(since.Milliseconds())}
		if since < inFlight {
			f.InFlight = 1
		}
		return f
	}
}

func TestSilence(t *testing.T) {
	const least, grace, limit = 2 * time.Second, 5 * time.Second, 25 * time.Second
	for _, row := range []struct {
		name               string
		arrivals, inFlight time.Duration
		gap                cluster.Millis
		unasked            bool
		takes              time.Duration
		fails              bool
	}{
		{"nothing is there any more", 0, 0, 0, false, 2 * time.Second, false},
		{"what arrives is waited for", 3 * time.Second, 0, 0, false, 5 * time.Second, false},
		{"what is in flight is, too", 0, 7 * time.Second, 0, false, 7 * time.Second, false},
		{"who is rarely asked is silent for longer", 0, 0, 1000, false, 5 * time.Second, false},
		{"and if time is short, long enough", 0, 0, 20_000, false, limit, false},
		{"that something is in flight to the end is an error", 0, time.Hour, 0, false, limit, true},
		{"so is what arrives to the end", time.Hour, 0, 0, false, limit, true},
		{"a gate that nobody asks proves nothing", 0, 0, 0, true, grace, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{figures: busy(row.arrivals, row.inFlight, row.gap)}
				if row.unasked {
					f.figures = counted(cluster.Figures{})
				}
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				began := time.Now()
				err := newValve(t, f, &journal{}).silence(ctx, least, grace)
				assert.InDelta(t, row.takes.Seconds(), time.Since(began).Seconds(), 2*lookEvery.Seconds())
				if row.fails {
					require.ErrorIs(t, err, context.DeadlineExceeded)
					return
				}
				require.NoError(t, err)
			})
		})
	}
}
