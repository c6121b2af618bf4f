package rules

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/detourhq/detour/pkg/cluster"
)

// wants is what the registry wants of one rule.
type wants struct {
	groups []cluster.Group // those that list it, by id
	of     map[string]want // by target group ARN
	pauses string          // the pauses on groups, so that others are told from them
	fault  string          // why the weight of a paused group cannot be moved; empty if all can
}

// want is what the registry wants of one target group.
type want struct {
	group string       // one that it belongs to, a paused one if there is one
	sink  string       // ARN of the redirect function's target group, or, of a rule for large bodies, another group's
	large bool         // the rule is one for large bodies
	mode  cluster.Mode // of the harshest pause at now; empty if there is none
}

// unpaused is wants.pauses where there are none.
const unpaused = "none"

// wantsOf reads what s wants of the rule called arn, which rests on f. A group
// without a target group has the rule's only one.
func wantsOf(s *cluster.Snapshot, now cluster.Millis, arn string, f Forward, sink string) wants {
	w := wants{of: make(map[string]want), pauses: unpaused}
	var pauses []string
	for _, name := range slices.Sorted(maps.Keys(s.Groups)) {
		g := s.Groups[name]
		large := g.LargeBodyRule == arn
		if !large && !slices.Contains(g.Rules, arn) {
			continue
		}
		w.groups = append(w.groups, g)
		_, p, paused := s.Cover(nodeOf(name), "", now)
		if paused {
			pauses = append(pauses, name+"="+string(p.Mode))
		}
		sink := cmp.Or(g.DetourTargetGroup, sink)
		if large {
			sink = g.LargeBodyTargetGroup
		}
		tg := cmp.Or(g.TargetGroup, only(f, sink))
		if why := misfit(f, tg, sink); why != "" {
			if paused && p.Mode != cluster.Drain {
				w.fault = "group " + name + ": " + why
			}
			continue
		}
		if old, twice := w.of[tg]; !twice || p.Mode.Harsher(old.mode) {
			w.of[tg] = want{name, sink, large, p.Mode}
		}
	}
	if len(pauses) > 0 {
		w.pauses = strings.Join(pauses, " ")
	}
	return w
}

// nodeOf is any node of a group, to ask what covers them all.
func nodeOf(group string) *cluster.Node {
	return &cluster.Node{Descriptor: cluster.Descriptor{Group: group}}
}

// only returns f's single target group beside sink, empty if there are several.
func only(f Forward, sink string) (found string) {
	for _, w := range f.Weights {
		switch {
		case w.TargetGroup == sink:
		case found != "":
			return ""
		default:
			found = w.TargetGroup
		}
	}
	return found
}

// misfit tells why the weight of tg in f cannot be moved to sink.
func misfit(f Forward, tg, sink string) string {
	_, there := f.of(tg)
	switch {
	case sink == "":
		return "no target group of the redirect function is known"
	case tg == "":
		return "it names no target group, and the rule has several"
	case tg == sink:
		return "its target group is the one that it would be moved to"
	case !there:
		return "the rule does not forward to its target group " + id(tg)
	}
	return ""
}

// ids returns the ids of the groups that list the rule.
func (w wants) ids() []string {
	var ids []string
	for _, g := range w.groups {
		ids = append(ids, g.ID)
	}
	return ids
}

// sinks returns where the weight of each target group is led to.
func (w wants) sinks() map[string]string {
	sinks := make(map[string]string)
	for tg, want := range w.of {
		sinks[tg] = want.sink
	}
	return sinks
}
