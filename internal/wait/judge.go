package wait

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/pkg/cluster"
)

// judge draws conclusions from looks, all of them by the registry's clock.
type judge struct {
	pause command.Paused
	quiet time.Duration // the least time for which nothing may arrive

	nodes   map[string]*trail
	missing cluster.Millis // since when the pause is missing; zero while it is there
	lost    bool           // it was missing, and nobody resumed it: nodes may be missing for no other reason
	moved   cluster.Millis // since when all rules are in place; zero while they are not
}

func newJudge(p command.Paused, quiet time.Duration) *judge {
	return &judge{pause: p, quiet: quiet, nodes: make(map[string]*trail)}
}

// take judges by one more look.
func (j *judge) take(l *command.Look) Result {
	r := Result{State: Waiting, Rules: l.Rules}
	stands := j.stands(l, &r)
	calm := j.calm(l)
	r.Settling = r.moved() == len(r.Rules) && l.Time < calm
	r.Nodes = j.judgeNodes(l, calm)
	if !stands {
		return r
	}
	for _, n := range r.Nodes {
		if n.never {
			r.State, r.Why = Unproven, "node "+n.ID+" "+n.Why
			return r
		}
	}
	if !r.Settling && len(r.Left()) == 0 {
		r.State = Done
	}
	return r
}

// fail takes note of a look that failed: what was missing may be back.
func (j *judge) fail() {
	j.missing = 0
	for _, t := range j.nodes {
		t.missing = 0
	}
}

// stands judges whether the pause is still the one that is waited for, and says in r
// how it was overtaken. One that was lost and written back has a new epoch.
func (j *judge) stands(l *command.Look, r *Result) bool {
	p := l.Pause
	switch {
	case j.pause.Until != 0 && l.Time >= j.pause.Until && (p == nil || p.Until == j.pause.Until):
		r.State, r.At, r.Why = Overtaken, j.pause.Until, "the pause has ended by itself"
	case p == nil && l.Resumed != nil:
		r.State, r.By, r.At, r.Why = Overtaken, l.Resumed.By, l.Resumed.At, "the pause was resumed"
	case p == nil:
		j.lost = true
		if since(&j.missing, l.Time) >= absence {
			r.State, r.At, r.Why = Overtaken, j.missing, "the pause was resumed"
		} else {
			r.Why = "the pause is not in the registry"
		}
	case p.Epoch != j.pause.Epoch && !j.isSame(p):
		r.State, r.By, r.At = Overtaken, p.By, p.Since
		r.Why = fmt.Sprintf("the pause was replaced by one in mode %s", p.Mode)
		if p.Reason != "" {
			r.Why += ", " + p.Reason
		}
	default:
		j.lost = j.lost || p.Epoch != j.pause.Epoch
		j.pause.Epoch, j.missing = p.Epoch, 0
		return true
	}
	return false
}

func (j *judge) isSame(p *cluster.Pause) bool {
	return p.Since == j.pause.Since && p.Mode == j.pause.Mode && p.Until == j.pause.Until && p.Deadline == j.pause.Deadline
}

// calm returns the instant from which on load balancers obey the rules, if there are
// any: some time after the first of the looks in which all of them are in place.
func (j *judge) calm(l *command.Look) cluster.Millis {
	if len(l.Rules) == 0 {
		return 0
	}
	if !slices.ContainsFunc(l.Rules, isOut) {
		since(&j.moved, l.Time)
		return j.moved.Add(time.Duration(l.SettleMS) * time.Millisecond)
	}
	j.moved = 0
	return math.MaxInt64
}

// judgeNodes judges each node that the pause covers, or did. What arrived before
// calm says nothing.
func (j *judge) judgeNodes(l *command.Look, calm cluster.Millis) []Node {
	for _, t := range j.nodes {
		t.there = false
	}
	for _, n := range l.Nodes {
		t := j.nodes[n.ID]
		if t == nil || t.last.Generation != n.Generation {
			t = &trail{}
			j.nodes[n.ID] = t
		}
		t.take(n, calm, j.pause.Epoch)
	}
	nodes := []Node{}
	for _, id := range slices.Sorted(maps.Keys(j.nodes)) {
		nodes = append(nodes, j.nodes[id].judge(l.Time, j.pause.Epoch, j.quiet, j.lost))
	}
	return nodes
}

// since returns how long something has been so by now, and notes when that began. A
// clock that stepped back begins anew.
func since(began *cluster.Millis, now cluster.Millis) time.Duration {
	if *began == 0 || *began > now {
		*began = now
	}
	return now.Sub(*began)
}
