package rules

import (
	"maps"
	"slices"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// Memory is what one pass leaves to the next, by rule ARN: a rule at rest that
// nobody has touched is not in it. The caller stores it as JSON, best each rule
// for itself, so that two passes do not undo each other.
type Memory map[string]RuleMemory

// RuleMemory is what is remembered of one rule.
type RuleMemory struct {
	State State  `json:"state"`
	Why   string `json:"why,omitempty"`

	Resting *Forward `json:"resting,omitempty"` // what it rests on; nil where Detour has no claim on it
	Written *Forward `json:"written,omitempty"` // what was written last

	WrittenAt []cluster.Millis          `json:"written_at_ms,omitempty"` // when that was tried, the latest few
	Returning map[string]cluster.Millis `json:"returning_ms,omitempty"`  // target groups that wait for their targets, since when
	Forced    string                    `json:"forced,omitempty"`        // the pauses that the operator forced, as wants tells them
	Told      State                     `json:"told,omitempty"`          // Moved, Contested or Foreign, whichever was the last event; empty since the rule is at rest
}

// What one value may be written before somebody has to look: whoever changes it
// back would do so for ever.
const (
	maxWrites    = 3
	writesWindow = 10 * time.Minute
)

func (m RuleMemory) clone() RuleMemory {
	m.WrittenAt = slices.Clone(m.WrittenAt)
	m.Returning = maps.Clone(m.Returning)
	return m
}

// empty reports whether nothing is worth remembering.
func (m RuleMemory) empty() bool {
	return m.Resting == nil && m.Forced == "" && len(m.Returning) == 0 && m.State == Resting
}

// event returns the event of a rule that is in state s now, and remembers that it
// was told.
func (m *RuleMemory) event(s State) string {
	switch s {
	case m.Told:
		return ""
	case Moved, Contested, Foreign:
		m.Told = s
		return "rule." + string(s)
	case Resting:
		if m.Told == "" {
			return ""
		}
		m.Told = ""
		return "rule.restored"
	}
	return ""
}

// exhausted reports whether f was written as often as it may be by now.
func (m RuleMemory) exhausted(f Forward, now cluster.Millis) bool {
	return m.Written != nil && m.Written.equal(f) && len(m.recent(now)) >= maxWrites
}

// recent returns the writes that count at now. One in the future is of a clock
// that stepped back, and does not.
func (m RuleMemory) recent(now cluster.Millis) []cluster.Millis {
	return slices.DeleteFunc(slices.Clone(m.WrittenAt), func(at cluster.Millis) bool {
		return at > now || now.Sub(at) >= writesWindow
	})
}

// intend remembers that f is to be written.
func (m *RuleMemory) intend(f Forward) {
	if m.Written == nil || !m.Written.equal(f) {
		m.WrittenAt = nil
	}
	m.Written = &f
}

// tried remembers that it is written at now, once for each pass.
func (m *RuleMemory) tried(now cluster.Millis) {
	if !slices.Contains(m.WrittenAt, now) {
		m.WrittenAt = append(m.recent(now), now)
	}
}

// release forgets the claim, and what it was for.
func (m *RuleMemory) release() {
	m.Resting, m.Written, m.WrittenAt, m.Returning = nil, nil, nil, nil
}
