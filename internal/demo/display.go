package demo

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/detourhq/detour/internal/traffic"
)

const (
	lineEvery = 5 * time.Second // between two plain lines of one phase
	barWidth  = 10

	eraseLine = "\r\x1b[K" // ECMA-48 EL: from the cursor to the end of the line
	cutOff    = "\x1b[?7l" // DEC private mode DECAWM reset: a narrow terminal does not wrap,
	wrapAgain = "\x1b[?7h" // and so has one line to erase
)

// Display shows the progress of the demo to people. It is not safe for
// concurrent use.
type Display struct {
	w    io.Writer
	live bool

	shown bool // a plain line was written
	phase string
	since time.Duration
}

// NewDisplay returns a display on w: one line that is redrawn in place if w is a
// terminal (live), or else a line for each phase, and every 5 s.
func NewDisplay(w io.Writer, live bool) *Display { return &Display{w: w, live: live} }

// Update shows p.
func (d *Display) Update(p Progress) {
	if d.live {
		_, _ = io.WriteString(d.w, eraseLine+cutOff+bar(p)+" "+line(p)+wrapAgain)
		return
	}
	if d.shown && p.Phase == d.phase && p.Elapsed-d.since < lineEvery {
		return
	}
	d.shown, d.phase, d.since = true, p.Phase, p.Elapsed
	_, _ = io.WriteString(d.w, line(p)+nodes(p)+"\n")
}

// bar shows which share of the nodes has been deployed.
func bar(p Progress) string {
	full := 0
	if p.NodesTotal > 0 {
		full = min(barWidth*p.NodesDeployed/p.NodesTotal, barWidth)
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat("-", barWidth-full) + "]"
}

// nodes is said where there is no bar.
func nodes(p Progress) string {
	if p.NodesTotal == 0 {
		return ""
	}
	return fmt.Sprintf(", %d/%d nodes", p.NodesDeployed, p.NodesTotal)
}

// line fits, with a bar, in 80 columns up to 99,999 requests.
func line(p Progress) string {
	s := fmt.Sprintf("%3.0fs %-17s", p.Elapsed.Seconds(), p.Phase)
	if p.NodesTotal == 0 {
		return strings.TrimRight(s, " ")
	}
	return s + fmt.Sprintf(" %d requests, %d failed, %d redirected", p.Requests, p.Failed, p.Redirected)
}

// End leaves nothing on a terminal.
func (d *Display) End() {
	if d.live {
		_, _ = io.WriteString(d.w, eraseLine)
	}
}

// Verdict returns what r means, in lines for people. withoutDetour says how the demo
// was run.
func Verdict(r traffic.Result, withoutDetour bool) string {
	var b strings.Builder
	b.WriteString(headline(r, withoutDetour) + "\n\n")
	fmt.Fprintf(&b, "  deployed    %d nodes, each stopped and started as a new version, in %.0f s under load\n", r.NodesDeployed, r.DurationS)
	fmt.Fprintf(&b, "  requests    %d: %d ok, %d failed (%d with 503, %d with a wrong body)\n", r.Requests, r.OK, r.Failed, r.Unavailable, r.BodyMismatches)
	fmt.Fprintf(&b, "  redirected  %d, by 307 to a healthy node\n", r.Redirected)
	fmt.Fprintf(&b, "  latency     p50 %.1f ms, p99 %.1f ms, redirects included\n", r.P50MS, r.P99MS)
	if len(r.Failures) > 0 {
		fmt.Fprintf(&b, "\nThe first %d of %d failures:\n", len(r.Failures), r.Failed)
	}
	for _, f := range r.Failures {
		b.WriteString("  " + f.String() + "\n")
	}
	return b.String()
}

func headline(r traffic.Result, withoutDetour bool) string {
	switch {
	case r.Requests == 0:
		return "No request was made."
	case withoutDetour && r.Failed > 0:
		return fmt.Sprintf("Without Detour this deployment lost %d of %d requests.", r.Failed, r.Requests)
	case withoutDetour:
		return "Without Detour this deployment lost no request this time."
	case r.Failed > 0:
		return fmt.Sprintf("This deployment lost %d of %d requests.", r.Failed, r.Requests)
	default:
		return fmt.Sprintf("This deployment lost none of %d requests, and no byte of a body.", r.Requests)
	}
}
