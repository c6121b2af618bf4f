package wait

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/internal/rules"
	"github.com/detourhq/detour/pkg/cluster"
)

// State says how a wait stands.
type State string

// The states. All but the first one end the wait; the pause stands in all but
// Overtaken.
const (
	Waiting     State = "waiting"
	Done        State = "done"        // nothing is under way, and nothing arrives any more
	TimedOut    State = "timeout"     // something was left
	Overtaken   State = "overtaken"   // the pause was resumed, replaced, or ended by itself
	Unproven    State = "unproven"    // that nothing is under way can never be told
	Interrupted State = "interrupted" // whoever waits was told to end
)

// ErrFinal is wrapped by the error of a look that asking again will not mend.
var ErrFinal = errors.New("asking again is of no use")

// Result is how a wait stands or ended.
type Result struct {
	State    State                `json:"state"`
	Why      string               `json:"why,omitempty"`   // for people: how it was overtaken, why it is unproven, why the last look failed
	By       string               `json:"by,omitempty"`    // of Overtaken: who replaced the pause
	At       cluster.Millis       `json:"at_ms,omitempty"` // of Overtaken: when, as far as is known
	WaitedMS int64                `json:"waited_ms"`
	Nodes    []Node               `json:"nodes"` // that the pause covered at some look, by id
	Rules    []command.RuleAnswer `json:"rules,omitempty"`
	Settling bool                 `json:"settling,omitempty"` // the rules are moved, but load balancers may not obey them yet
}

// Node is one node that the pause covered.
type Node struct {
	ID         string             `json:"id"`
	Generation cluster.Generation `json:"generation"`
	Quiet      bool               `json:"quiet"`
	Gone       bool               `json:"gone,omitempty"`  // it left, or was pruned
	Stale      bool               `json:"stale,omitempty"` // it is silent: it may still serve what it has
	Why        string             `json:"why,omitempty"`   // what is waited for; empty if it is quiet
	InFlight   int64              `json:"inflight"`
	Sessions   int64              `json:"sessions"` // in a drain; elsewhere they are not waited for

	// Uncounted says that it has counted no request since it started: either none
	// came, or its application does not ask the gate, and then its silence says nothing.
	Uncounted bool `json:"uncounted,omitempty"`

	never bool // Why will never change: it counts nothing
}

// Quiet returns how many nodes are quiet.
func (r *Result) Quiet() (n int) {
	for _, node := range r.Nodes {
		if node.Quiet {
			n++
		}
	}
	return n
}

// Left tells people what is waited for, one item each.
func (r *Result) Left() []string {
	var left []string
	for _, a := range r.Rules {
		if isOut(a) {
			left = append(left, strings.TrimSuffix(fmt.Sprintf("rule %s is %s: %s", a.ARN, a.State, a.Why), ": "))
		}
	}
	for _, n := range r.Nodes {
		if !n.Quiet {
			left = append(left, "node "+n.ID+": "+n.Why)
		}
	}
	return left
}

// String returns one line for people, without the time; rules by the last part of
// their ARN.
func (r Result) String() string {
	var inflight, sessions int64
	var more []string
	if moved := r.moved(); moved < len(r.Rules) {
		more = append(more, fmt.Sprintf("%d of %d rules moved", moved, len(r.Rules)))
	} else if r.Settling {
		more = append(more, "rules are settling")
	}
	for _, a := range r.Rules {
		if isOut(a) && a.State != rules.Pending {
			more = append(more, fmt.Sprintf("rule %s is %s", path.Base(a.ARN), a.State))
		}
	}
	for _, n := range r.Nodes {
		inflight, sessions = inflight+n.InFlight, sessions+n.Sessions
		if n.Stale {
			more = append(more, "node "+n.ID+" is stale")
		}
		if n.Uncounted {
			more = append(more, "node "+n.ID+" has counted no request so far")
		}
	}
	if r.State == Waiting && r.Why != "" {
		more = append(more, r.Why)
	}
	first := fmt.Sprintf("%s: %d of %d nodes quiet, %d in flight, %d sessions", r.State, r.Quiet(), len(r.Nodes), inflight, sessions)
	return strings.Join(append([]string{first}, more...), ", ")
}

func (r *Result) moved() (n int) {
	for _, a := range r.Rules {
		if !isOut(a) {
			n++
		}
	}
	return n
}

// isOut reports whether a rule is not yet as the pause wants it. One at rest is: it
// has nothing to move.
func isOut(a command.RuleAnswer) bool { return a.State != rules.Moved && a.State != rules.Resting }
