package e2e

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// span is a stretch of the time since the history began, on this process's
// monotonic clock.
type span struct{ from, to time.Duration }

// within reports whether s lies in o entirely.
func (s span) within(o span) bool { return s.from >= o.from && s.to <= o.to }

// pausing is a pause, from its acknowledgement until its end is asked for.
type pausing struct {
	span
	how   string
	nodes []string // all that it covers
}

// deciding is a request, from just before the function is called until its
// answer is there.
type deciding struct {
	span
	node string // that was led to
}

// history is what has happened so far.
type history struct {
	began time.Time

	mu        sync.Mutex
	pauses    []pausing
	decisions []deciding
}

func newHistory() *history { return &history{began: time.Now()} }

func (h *history) now() time.Duration { return time.Since(h.began) }

func (h *history) paused(p pausing) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pauses = append(h.pauses, p)
}

func (h *history) decided(d deciding) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.decisions = append(h.decisions, d)
}

// check returns the decisions that led to a node which was paused all the while,
// and how many lie within a pause of any node: those that could break the
// promise.
func (h *history) check() (broken []string, tried int) {
	for _, d := range h.decisions {
		during := false
		for _, p := range h.pauses {
			if !d.within(p.span) {
				continue
			}
			during = true
			if slices.Contains(p.nodes, d.node) {
				broken = append(broken, fmt.Sprintf("led to %s %s after its pause %s, %s before its end",
					d.node, d.from-p.from, p.how, p.to-d.to))
			}
		}
		if during {
			tried++
		}
	}
	return broken, tried
}

// led counts the decisions by node.
func (h *history) led() map[string]int {
	led := map[string]int{}
	for _, d := range h.decisions {
		led[d.node]++
	}
	return led
}

func TestTheCheckerSeesABrokenPromise(t *testing.T) {
	for name, row := range map[string]struct {
		decision deciding
		broken   bool
		tried    int
	}{
		"within the pause of its node":   {deciding{span{10, 20}, "n1"}, true, 1},
		"within the pause of its group":  {deciding{span{10, 20}, "n2"}, true, 1},
		"within the pause of another":    {deciding{span{11, 19}, "n3"}, false, 1},
		"begun before the pause":         {deciding{span{9, 15}, "n1"}, false, 0},
		"ended after the pause":          {deciding{span{15, 21}, "n1"}, false, 0},
		"long before and after the same": {deciding{span{1, 30}, "n1"}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := history{pauses: []pausing{{span{10, 20}, "of its group", []string{"n1", "n2"}}}, decisions: []deciding{row.decision}}
			broken, tried := h.check()
			require.Equal(t, row.broken, len(broken) > 0)
			require.Equal(t, row.tried, tried)
		})
	}
}
