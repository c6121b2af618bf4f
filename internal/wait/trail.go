package wait

import (
	"fmt"
	"strings"
	"time"

	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/gate"
)

const (
	// absence is how long a node or the pause must be missing from the registry to
	// count as gone: after a flush the nodes' agents bring both back within a second,
	// as a rule. One whose connection died with the registry takes longer: where that
	// has lost the pause, a node that is missing is but silent for its tolerance.
	absence = 2 * time.Second
	// youth is how long a new node may take to publish its first figures.
	youth = 2 * time.Second
)

// trail is what the looks have shown of one life of a node.
type trail struct {
	last    command.NodeLook
	there   bool           // in the last look
	missing cluster.Millis // since when it is not; zero while it is
	counts  bool           // it has published figures

	// Arrivals have stood still between these two pulses; from is zero where that has
	// not begun. Both came with the count: it only grows, so that it was the same all
	// the time in between, whatever looks failed meanwhile.
	from, heard cluster.Millis
}

// take follows the node by one more look. It can be still from calm on, once it has
// seen the pause of epoch; that begins anew where something has arrived, and after a
// silence that made it stale: the pulse that ends it may be a probe's, without a count.
func (t *trail) take(n command.NodeLook, calm cluster.Millis, epoch int64) {
	silence := n.Pulse.Sub(t.heard)
	switch {
	case n.Pulse < calm || !sees(n, epoch):
		t.from = 0
	case t.from == 0, n.Figures.Arrivals != t.last.Figures.Arrivals, silence < 0, silence > tolerance(n):
		t.from = n.Pulse
	}
	t.last, t.heard, t.there, t.missing = n, n.Pulse, true, 0
	t.counts = t.counts || n.Figures != nil
}

func tolerance(n command.NodeLook) time.Duration {
	return time.Duration(n.ToleranceMS) * time.Millisecond
}

func (t *trail) isStale(now cluster.Millis) bool { return now.Sub(t.last.Pulse) > tolerance(t.last) }

// sees reports whether the node acts on the pause of epoch.
func sees(n command.NodeLook, epoch int64) bool {
	return n.Figures != nil && n.Figures.SeenEpoch >= epoch
}

// judge tells how the node stands at now. lost says that the registry was.
func (t *trail) judge(now cluster.Millis, epoch int64, quiet time.Duration, lost bool) Node {
	n := Node{ID: t.last.ID, Generation: t.last.Generation}
	gone := absence
	if lost {
		gone = max(gone, tolerance(t.last))
	}
	if !t.there && since(&t.missing, now) >= gone {
		n.Quiet, n.Gone = true, true
		return n
	}
	if f := t.last.Figures; f != nil {
		n.InFlight, n.Uncounted = f.InFlight, f.Arrivals == 0 && f.InFlight == 0
		if t.last.Mode == cluster.Drain {
			n.Sessions = f.Sessions
		}
	}
	n.Stale = t.there && t.isStale(now)
	n.Why, n.never = t.why(now, epoch, quiet)
	n.Quiet = n.Why == ""
	return n
}

// why tells what is waited for, nothing where the node is quiet. never says that
// waiting does not help.
func (t *trail) why(now cluster.Millis, epoch int64, quiet time.Duration) (why string, never bool) {
	n := t.last
	switch {
	case !t.there:
		return "is missing from the registry", false
	case n.Partial:
		return "counts what is under way in all of its contexts together: that nothing is left in one cannot be told", true
	case n.Figures == nil && !t.counts && now.Sub(n.Started) >= youth:
		return "publishes no figures: run its agent with --gate, or use pkg/gate in it", true
	case n.Figures == nil:
		return "has not published its figures yet", false
	case t.isStale(now):
		return fmt.Sprintf("is stale, silent for %s: it may still serve what it has", now.Sub(n.Pulse).Round(time.Second)), false
	case !sees(n, epoch):
		return "has not seen the pause", false
	}
	return t.busy(quiet), false
}

// busy tells what the node's figures say is left.
func (t *trail) busy(quiet time.Duration) string {
	var left []string
	f := t.last.Figures
	if f.InFlight > 0 {
		left = append(left, fmt.Sprintf("%d in flight", f.InFlight))
	}
	if f.Sessions > 0 && t.last.Mode == cluster.Drain {
		left = append(left, fmt.Sprintf("%d sessions", f.Sessions))
	}
	need, still := gate.Needed(quiet, f.Gap), t.still()
	if t.last.Mode == cluster.Hold {
		need = 0 // however many come to wait: none is let in
	}
	if still < need && len(left) == 0 {
		left = append(left, fmt.Sprintf("nothing has arrived for %s of %s", still.Round(100*time.Millisecond), need))
	}
	return strings.Join(left, ", ")
}

// still returns for how long nothing is known to have arrived.
func (t *trail) still() time.Duration {
	if t.from == 0 {
		return 0
	}
	return t.heard.Sub(t.from)
}
