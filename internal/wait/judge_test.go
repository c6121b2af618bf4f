package wait

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/internal/rules"
	"github.com/detourhq/detour/pkg/cluster"
)

const (
	began cluster.Millis = 1_700_000_000_000
	epoch int64          = 7
	rule                 = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:listener-rule/app/shop/0/0/1"
)

// story tells what a look shows so many milliseconds after the pause.
type story func(l *command.Look, ms cluster.Millis)

// play looks each second for two minutes, and returns how the wait ended, and after
// how many seconds.
func play(p command.Paused, quiet time.Duration, tell story) (Result, int) {
	j := newJudge(p, quiet)
	var r Result
	for second := range 121 {
		ms := cluster.Millis(second) * 1000
		stored := cluster.Pause{Mode: p.Mode, By: "ops", Since: p.Since, Until: p.Until, Deadline: p.Deadline, Epoch: epoch}
		l := &command.Look{Time: began + ms, Pause: &stored, SettleMS: 10_000}
		tell(l, ms)
		if r = j.take(l); r.State != Waiting {
			return r, second
		}
	}
	return r, 120
}

func pauseIn(mode cluster.Mode) command.Paused {
	return command.Paused{Target: "group:blue", Mode: mode, Epoch: epoch, Since: began}
}

// node adds one that pulses now and is idle, and returns it with its figures.
func node(l *command.Look, id string) (*command.NodeLook, *cluster.Figures) {
	f := &cluster.Figures{SeenEpoch: epoch}
	l.Nodes = append(l.Nodes, command.NodeLook{
		ID: id, Generation: "1-a", Mode: cluster.Redirect, Pulse: l.Time, ToleranceMS: 15_000, Figures: f,
	})
	return &l.Nodes[len(l.Nodes)-1], f
}

func TestANodeIsQuiet(t *testing.T) {
	for _, row := range []struct {
		name   string
		quiet  time.Duration
		second int // in which the wait is done; 120 for never
		tell   func(n *command.NodeLook, f *cluster.Figures, ms cluster.Millis)
	}{
		{"at once where no time is asked for", 0, 0, func(*command.NodeLook, *cluster.Figures, cluster.Millis) {}},
		{"after the time asked for", 2 * time.Second, 2, func(*command.NodeLook, *cluster.Figures, cluster.Millis) {}},
		{"not a millisecond before", 2*time.Second + time.Millisecond, 3, func(*command.NodeLook, *cluster.Figures, cluster.Millis) {}},
		{"after 5 times the gap between requests", 0, 2, func(_ *command.NodeLook, f *cluster.Figures, _ cluster.Millis) { f.Gap = 400 }},
		{"where that is longer", 2 * time.Second, 3, func(_ *command.NodeLook, f *cluster.Figures, _ cluster.Millis) { f.Gap = 401 }},
		{"but at most 30 s", 2 * time.Second, 30, func(_ *command.NodeLook, f *cluster.Figures, _ cluster.Millis) { f.Gap = 6001 }},
		{"unless more is asked for", 40 * time.Second, 40, func(_ *command.NodeLook, f *cluster.Figures, _ cluster.Millis) { f.Gap = 6001 }},
		{"on hold though requests come on: they wait", 2 * time.Second, 3, func(n *command.NodeLook, f *cluster.Figures, ms cluster.Millis) {
			n.Mode, f.Arrivals = cluster.Hold, int64(ms)
			if ms < 3000 {
				f.InFlight = 1
			}
		}},
		{"counted from the last arrival", 2 * time.Second, 6, func(_ *command.NodeLook, f *cluster.Figures, ms cluster.Millis) {
			f.Arrivals = min(int64(ms), 3500)
		}},
		{"when what is under way has ended (postgresml/pgcat#917)", 2 * time.Second, 3, func(_ *command.NodeLook, f *cluster.Figures, ms cluster.Millis) {
			if ms < 3000 {
				f.InFlight = 1
			}
		}},
		{"once it has seen the pause", 2 * time.Second, 7, func(_ *command.NodeLook, f *cluster.Figures, ms cluster.Millis) {
			if ms < 5000 {
				f.SeenEpoch = epoch - 1
			}
		}},
		{"when the sessions of a drain have ended", 2 * time.Second, 9, func(n *command.NodeLook, f *cluster.Figures, ms cluster.Millis) {
			n.Mode = cluster.Drain
			if ms < 9000 {
				f.Sessions = 12
			}
		}},
		{"at the deadline of a drain with a session that never ends (ansible/ansible#37591, oracle/weblogic-kubernetes-operator#2635)", 2 * time.Second, 30, func(n *command.NodeLook, f *cluster.Figures, ms cluster.Millis) {
			f.Sessions = 1
			if ms < 30_000 {
				n.Mode = cluster.Drain
			}
		}},
		{"whatever sessions it has, where they have gone to peers (oracle/weblogic-kubernetes-operator#3295)", 2 * time.Second, 2, func(_ *command.NodeLook, f *cluster.Figures, _ cluster.Millis) { f.Sessions = 12 }},
		{"never while a drain has sessions and no deadline (oracle/weblogic-kubernetes-operator#3295)", 2 * time.Second, 120, func(n *command.NodeLook, f *cluster.Figures, _ cluster.Millis) {
			n.Mode, f.Sessions = cluster.Drain, 1
		}},
		{"when a new start of it has seen the pause too (resque/resque#1485)", 2 * time.Second, 7, func(n *command.NodeLook, f *cluster.Figures, ms cluster.Millis) {
			switch {
			case ms < 2000:
				f.InFlight = 1
			case ms < 3000:
				n.Generation, n.Started, n.Figures = "2-a", began+2000, nil
			case ms < 5000:
				n.Generation, f.SeenEpoch = "2-a", 0
			default:
				n.Generation = "2-a"
			}
		}},
		{"anew from its new start, which has counted nothing yet either", 2 * time.Second, 3, func(n *command.NodeLook, _ *cluster.Figures, ms cluster.Millis) {
			if ms >= 1000 {
				n.Generation = "2-a"
			}
		}},
		{"by its own word: pulses and not looks count", 2 * time.Second, 120, func(n *command.NodeLook, _ *cluster.Figures, ms cluster.Millis) {
			n.Pulse = began + min(ms, 1999)
		}},
		{"after its last tolerated silence", 2 * time.Second, 15, func(n *command.NodeLook, _ *cluster.Figures, ms cluster.Millis) {
			n.Pulse = began + ms/15_000*15_000
		}},
		{"never by pulses that end a longer one: a probe stamps them, without figures", 2 * time.Second, 120, func(n *command.NodeLook, _ *cluster.Figures, ms cluster.Millis) {
			n.Pulse = began + ms/16_000*16_000
		}},
		{"after figures that a flush had lost came back", 2 * time.Second, 5, func(n *command.NodeLook, _ *cluster.Figures, ms cluster.Millis) {
			if ms == 1000 || ms == 2000 {
				n.Figures = nil
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, second := play(pauseIn(cluster.Redirect), row.quiet, func(l *command.Look, ms cluster.Millis) {
				n, f := node(l, "n1")
				row.tell(n, f, ms)
			})
			assert.Equal(t, row.second, second, r.Left())
			assert.Equal(t, row.second == 120, r.State == Waiting)
		})
	}
}

func TestRulesAreMovedAndObeyedFirst(t *testing.T) {
	in := func(s rules.State) []command.RuleAnswer { return []command.RuleAnswer{{ARN: rule, State: s}} }
	for _, row := range []struct {
		name   string
		second int
		tell   story
	}{
		{"before stillness counts", 12, func(l *command.Look, _ cluster.Millis) { l.Rules = in(rules.Moved) }},
		{"from the look in which all are moved", 15, func(l *command.Look, ms cluster.Millis) {
			l.Rules = in(rules.Moved)
			if ms < 3000 {
				l.Rules = append(l.Rules, in(rules.Pending)...)
			}
		}},
		{"with no time to settle", 5, func(l *command.Look, ms cluster.Millis) {
			l.SettleMS, l.Rules = 0, in(rules.Moved)
			if ms < 3000 {
				l.Rules = in(rules.Pending)
			}
		}},
		{"again after one was changed back", 18, func(l *command.Look, ms cluster.Millis) {
			l.Rules = in(rules.Moved)
			if ms == 5000 {
				l.Rules = in(rules.Contested)
			}
		}},
		{"but one at rest has nothing to move", 12, func(l *command.Look, _ cluster.Millis) { l.Rules = in(rules.Resting) }},
		{"never where a rule is somebody else's", 120, func(l *command.Look, _ cluster.Millis) { l.Rules = in(rules.Foreign) }},
		{"never where AWS denies it", 120, func(l *command.Look, _ cluster.Millis) { l.Rules = in(rules.Denied) }},
		{"never where nobody would be left", 120, func(l *command.Look, _ cluster.Millis) { l.Rules = in(rules.Refused) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, second := play(pauseIn(cluster.Redirect), 2*time.Second, func(l *command.Look, ms cluster.Millis) {
				node(l, "n1")
				row.tell(l, ms)
			})
			assert.Equal(t, row.second, second, r.Left())
			if row.second == 120 {
				assert.Contains(t, r.Left()[0], rule, "the rule is named")
				assert.Contains(t, r.String(), "rule 1 is "+string(r.Rules[0].State), "at once too, in short")
			}
		})
	}
}

func TestWhoIsGoneIsNotWaitedFor(t *testing.T) {
	busy := func(l *command.Look) { _, f := node(l, "n1"); f.InFlight = 3 }
	r, second := play(pauseIn(cluster.Redirect), 0, func(l *command.Look, ms cluster.Millis) {
		node(l, "n0")
		if ms < 5000 {
			busy(l)
		}
	})
	assert.Equal(t, Done, r.State)
	assert.Equal(t, 7, second, "two seconds after it was first missing")
	assert.Equal(t, []Node{{ID: "n0", Generation: "1-a", Quiet: true, Uncounted: true}, {ID: "n1", Generation: "1-a", Quiet: true, Gone: true}}, r.Nodes)

	r, _ = play(pauseIn(cluster.Redirect), 0, func(l *command.Look, ms cluster.Millis) {
		if ms < 5000 || ms > 6000 {
			busy(l)
		}
	})
	assert.Equal(t, Waiting, r.State, "one that is back soon has never left")
	assert.Equal(t, []string{"node n1: 3 in flight"}, r.Left())
}

func TestWhoIsSilentIsWaitedFor(t *testing.T) {
	j := newJudge(pauseIn(cluster.Redirect), 0)
	for _, row := range []struct {
		ms    cluster.Millis
		stale bool
	}{{15_000, false}, {15_001, true}} {
		l := &command.Look{Time: began, Pause: &cluster.Pause{Epoch: epoch}}
		node(l, "n1")
		l.Time = began + row.ms
		r := j.take(l)
		assert.Equal(t, row.stale, r.State == Waiting)
		if row.stale {
			assert.Contains(t, r.Left()[0], "silent for 15s")
			assert.Contains(t, r.String(), "node n1 is stale")
		}
	}
}

func TestThatANodeHasCountedNothingIsSaid(t *testing.T) {
	for arrivals, want := range map[int64]bool{0: true, 1: false} {
		r, _ := play(pauseIn(cluster.Redirect), 0, func(l *command.Look, _ cluster.Millis) {
			_, f := node(l, "n1")
			f.Arrivals = arrivals
		})
		assert.Equal(t, Done, r.State)
		assert.Equal(t, want, r.Nodes[0].Uncounted)
		assert.Equal(t, want, strings.Contains(r.String(), "node n1 has counted no request so far"))
	}
}

func TestWithoutNodesThereIsNothingToWaitFor(t *testing.T) {
	r, second := play(pauseIn(cluster.Stop), 2*time.Second, func(*command.Look, cluster.Millis) {})
	assert.Equal(t, Done, r.State)
	assert.Zero(t, second)
}
