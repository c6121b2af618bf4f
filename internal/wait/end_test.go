package wait

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/pkg/cluster"
)

func TestAPauseThatIsNoLongerTheSameIsOvertaken(t *testing.T) {
	timed := pauseIn(cluster.Redirect)
	timed.Until = began + 10_000
	for _, row := range []struct {
		name   string
		pause  command.Paused
		second int
		tell   story
		at     cluster.Millis
		why    string
	}{
		{"resumed (pgbouncer/pgbouncer#715)", pauseIn(cluster.Redirect), 6, func(l *command.Look, ms cluster.Millis) {
			if ms >= 4000 {
				l.Pause = nil
			}
		}, 4000, "resumed"},
		{"resumed, as the events tell", pauseIn(cluster.Redirect), 4, func(l *command.Look, ms cluster.Millis) {
			if ms >= 4000 {
				l.Pause, l.Resumed = nil, &cluster.Resumption{By: "ops", At: began + 3900}
			}
		}, 3900, "resumed"},
		{"replaced", pauseIn(cluster.Redirect), 4, func(l *command.Look, ms cluster.Millis) {
			if ms >= 4000 {
				l.Pause = &cluster.Pause{Mode: cluster.Drain, By: "ops", Reason: "night", Since: began + 3500, Epoch: epoch + 1}
			}
		}, 3500, "replaced by one in mode drain, night"},
		{"replaced within the same millisecond", pauseIn(cluster.Redirect), 4, func(l *command.Look, ms cluster.Millis) {
			if ms >= 4000 {
				l.Pause = &cluster.Pause{Mode: cluster.Stop, By: "ops", Since: began, Epoch: epoch + 1}
			}
		}, 0, "replaced"},
		{"ended by itself, still in the registry (hashicorp/consul#345)", timed, 10, func(*command.Look, cluster.Millis) {}, 10_000, "ended by itself"},
		{"ended by itself, and tidied up", timed, 10, func(l *command.Look, ms cluster.Millis) {
			if ms >= 9500 {
				l.Pause = nil
			}
		}, 10_000, "ended by itself"},
		{"replaced, where it would have ended", timed, 11, func(l *command.Look, ms cluster.Millis) {
			if ms < 11_000 {
				l.Time = began
			} else {
				l.Pause = &cluster.Pause{Mode: cluster.Redirect, By: "ops", Since: began + 9000, Epoch: epoch + 1}
			}
		}, 9000, "replaced"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, second := play(row.pause, time.Second, func(l *command.Look, ms cluster.Millis) {
				_, f := node(l, "n1")
				f.InFlight = 1
				row.tell(l, ms)
			})
			assert.Equal(t, Overtaken, r.State)
			assert.Equal(t, row.second, second)
			assert.Equal(t, began+row.at, r.At)
			assert.Contains(t, r.Why, row.why)
			if r.By != "" {
				assert.Equal(t, "ops", r.By)
			}
		})
	}
}

// A registry that lost the pause gets it back from the nodes' agents, with a new
// epoch: that the nodes have seen the old one says nothing then.
func TestAPauseThatIsWrittenBackIsTheSame(t *testing.T) {
	r, second := play(pauseIn(cluster.Redirect), 2*time.Second, func(l *command.Look, ms cluster.Millis) {
		_, f := node(l, "n1")
		switch {
		case ms == 1000:
			l.Pause, l.Nodes = nil, nil
		case ms >= 2000:
			l.Pause.Epoch = epoch + 10
		}
		if ms >= 4000 {
			f.SeenEpoch = epoch + 10
		}
	})
	assert.Equal(t, Done, r.State)
	assert.Equal(t, 6, second)
}

// An agent whose connection hangs comes back to a registry that was lost later than
// the one that writes the pause back.
func TestALostRegistryIsNoProofThatANodeIsGone(t *testing.T) {
	for name, row := range map[string]struct {
		back cluster.Millis // when the second node is, busy for five seconds
		done int
	}{"it comes back, busy": {4500, 10}, "it never does": {200_000, 16}} {
		r, second := play(pauseIn(cluster.Redirect), 0, func(l *command.Look, ms cluster.Millis) {
			if ms >= 1000 {
				l.Pause.Epoch = epoch + 10
			}
			_, f := node(l, "n1")
			f.SeenEpoch = l.Pause.Epoch
			if ms < 1000 || ms >= row.back {
				_, f = node(l, "n2")
				f.SeenEpoch = l.Pause.Epoch
				if ms < row.back+5000 {
					f.InFlight = 1
				}
			}
		})
		assert.Equal(t, Done, r.State, name)
		assert.Equal(t, row.done, second, name)
	}
}

func TestWhatNobodyCountsCannotBeWaitedFor(t *testing.T) {
	for _, row := range []struct {
		name   string
		second int
		tell   func(n *command.NodeLook)
		why    string
	}{
		{"a node without figures", 0, func(n *command.NodeLook) { n.Figures = nil }, "--gate"},
		{"one that has had its time to publish them", 0, func(n *command.NodeLook) { n.Figures, n.Started = nil, began-2000 }, "pkg/gate"},
		{"one that has nearly had it", 1, func(n *command.NodeLook) { n.Figures, n.Started = nil, began-1999 }, "node n2 publishes no figures"},
		{"one of several contexts", 0, func(n *command.NodeLook) { n.Partial = true }, "contexts"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, second := play(pauseIn(cluster.Redirect), time.Second, func(l *command.Look, _ cluster.Millis) {
				node(l, "n1")
				n, _ := node(l, "n2")
				row.tell(n)
			})
			assert.Equal(t, Unproven, r.State)
			assert.Equal(t, row.second, second)
			assert.Contains(t, r.Why, row.why)
		})
	}
}
