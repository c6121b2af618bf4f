package cluster

import "fmt"

// Mode says what a pause does to traffic.
type Mode string

// The modes, from the mildest to the harshest.
const (
	Drain    Mode = "drain"    // new traffic to peers, existing sessions stay until the deadline
	Hold     Mode = "hold"     // all traffic waits, bounded, then goes to peers
	Redirect Mode = "redirect" // all traffic to peers
	Stop     Mode = "stop"     // all traffic to peers, nothing waits, sessions are dropped; ends by resume only
)

var harshness = map[Mode]int{Drain: 1, Hold: 2, Redirect: 3, Stop: 4}

// ParseMode reads a mode; empty means [Redirect]. The error wraps [ErrInvalid].
func ParseMode(s string) (Mode, error) {
	if s == "" {
		return Redirect, nil
	}
	if _, ok := harshness[Mode(s)]; !ok {
		return "", fmt.Errorf("%w: mode %q is none of redirect, drain, hold, stop", ErrInvalid, s)
	}
	return Mode(s), nil
}

// Pause is what an operator, a deployment or an AWS event asked for. It
// survives restarts of the nodes that it covers.
type Pause struct {
	Mode     Mode   `json:"mode"`
	Reason   string `json:"reason,omitempty"`
	By       string `json:"by,omitempty"`
	Since    Millis `json:"since_ms"`
	Until    Millis `json:"until_ms,omitempty"`    // when it ends by itself; zero means at resume
	Deadline Millis `json:"deadline_ms,omitempty"` // when drain becomes redirect; zero means never
	Epoch    int64  `json:"epoch"`                 // the epoch that it set
}

// Covers reports whether p is still in force at now: it ends at Until exactly.
func (p Pause) Covers(now Millis) bool { return p.Until == 0 || now < p.Until }

// ModeAt returns the mode at now: a drain past its deadline is a redirect, and
// a word that is no mode counts as redirect.
func (p Pause) ModeAt(now Millis) Mode {
	if _, ok := harshness[p.Mode]; !ok || p.Mode == Drain && p.Deadline != 0 && now >= p.Deadline {
		return Redirect
	}
	return p.Mode
}

// Harsher reports whether m takes more away than o. The empty mode takes nothing.
func (m Mode) Harsher(o Mode) bool { return harshness[m] > harshness[o] }
