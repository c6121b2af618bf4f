package entry

import (
	"bytes"
	"context"
	"log/slog"
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
	paused    bool
	figures   func() cluster.Figures
	reporters int
}

func (f *fake) Set(paused bool)          { f.paused = paused }
func (f *fake) Figures() cluster.Figures { return f.figures() }
func (f *fake) Reporters() int           { return f.reporters }

func counted(f cluster.Figures) func() cluster.Figures {
	return func() cluster.Figures { return f }
}

func newValve(f *fake, log *bytes.Buffer) *Valve {
	return NewValve(f, "n1", slog.New(slog.NewTextHandler(log, nil)))
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
		paused, said bool
	}{
		{"redirect withholds the GO", false, false, cover(cluster.Redirect), true, true},
		{"hold does", false, false, cover(cluster.Hold), true, true},
		{"stop does", false, false, cover(cluster.Stop), true, true},
		{"drain serves those that stay", false, false, cover(cluster.Drain), false, true},
		{"a redirect that becomes a drain lets go", true, false, cover(cluster.Drain), false, true},
		{"a resume lets go", true, false, agent.Cover{}, false, false},
		{"the node's own word withholds it", false, false, own, true, true},
		{"but not when the node ends", false, true, own, false, false},
		{"which does not lift another's pause", true, true, own, true, false},
		{"an operator's pause of a node that ends withholds it", false, true, cover(cluster.Redirect), true, true},
		{"a resume of a node that ends lets go", true, true, agent.Cover{}, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			var log bytes.Buffer
			f := &fake{paused: row.before, figures: counted(cluster.Figures{})}
			v := newValve(f, &log)
			if row.ending {
				v.end()
			}
			v.Obey(row.cover)
			assert.Equal(t, row.paused, f.paused)
			assert.Equal(t, row.said, log.Len() > 0, "that nobody asks the gate is said at a pause")
		})
	}
}

func TestNoWarningWhereTheGateIsAsked(t *testing.T) {
	for name, f := range map[string]*fake{
		"by requests":   {figures: counted(cluster.Figures{Arrivals: 1})},
		"by a reporter": {figures: counted(cluster.Figures{}), reporters: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			newValve(f, &log).Obey(cover(cluster.Redirect))
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
				err := newValve(f, &bytes.Buffer{}).silence(ctx, least, grace)
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
