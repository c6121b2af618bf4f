package cluster

import (
	"cmp"
	"slices"
	"time"
)

// Snapshot is the registry as it was at one instant. It is never changed after
// it was made, and safe for concurrent use.
type Snapshot struct {
	Epoch  int64     // zero where the registry holds none
	Time   Millis    // the registry's clock when it was read; zero for a static list
	ReadAt time.Time // this machine's wall clock at Time

	Nodes  []Node           // by id, ascending
	Pauses map[Target]Pause // ended ones included, until a sweep tidies up
	Groups map[string]Group // by id; only groups that have a record
	Broken []Broken         // what could not be read and was left out

	// Frozen says that the pulses since Time could not be read: liveness is
	// judged as at Time, whatever time it is.
	Frozen bool
}

// Broken names one entry of the registry that could not be read.
type Broken struct {
	Key   string // the key's name after the prefix: nodes, reports, …
	Field string
	Err   error
}

// Now returns the registry's time when this machine's wall clock shows wall:
// Time moved by the wall time that has passed since, never by a monotonic clock,
// which may stand still while a process is frozen. ok is false when the wall
// clock stepped back behind ReadAt: then nobody knows, and Time is returned.
func (s *Snapshot) Now(wall time.Time) (now Millis, ok bool) {
	passed := wall.Round(0).Sub(s.ReadAt.Round(0))
	if passed < 0 {
		return s.Time, false
	}
	return s.Time.Add(passed), true
}

// LivenessAt returns the instant at which to judge at now who is stale.
func (s *Snapshot) LivenessAt(now Millis) Millis {
	if s.Frozen {
		return s.Time
	}
	return now
}

// Node returns the node called id.
func (s *Snapshot) Node(id string) (*Node, bool) {
	i, found := slices.BinarySearchFunc(s.Nodes, id, func(n Node, id string) int { return cmp.Compare(n.ID, id) })
	if !found {
		return nil, false
	}
	return &s.Nodes[i], true
}

// Service returns the service of the group called id: its record's, or the
// default service "".
func (s *Snapshot) Service(group string) string { return s.Groups[group].Service }

// Cover returns the harshest pause in force at now on n as a whole, or on n's
// context unless context is empty; its mode is the one in force at now. ok is
// false if there is none. Of equals the widest is returned.
func (s *Snapshot) Cover(n *Node, context string, now Millis) (on Target, p Pause, ok bool) {
	covers := [...]Target{All, GroupTarget(n.Group), NodeTarget(n.ID), {Kind: ContextKind, ID: n.ID, Path: context}}
	for _, t := range covers {
		q, found := s.Pauses[t]
		if !found || !q.Covers(now) {
			continue
		}
		q.Mode = q.ModeAt(now)
		if q.Mode.Harsher(p.Mode) {
			on, p, ok = t, q, true
		}
	}
	return on, p, ok
}

// NextChange returns the first instant after now at which a pause ends or
// hardens, and false if time alone changes no pause.
func (s *Snapshot) NextChange(now Millis) (next Millis, ok bool) {
	for _, p := range s.Pauses {
		for _, at := range [...]Millis{p.Until, p.Deadline} {
			if at > now && (!ok || at < next) {
				next, ok = at, true
			}
		}
	}
	return next, ok
}
