package rules

import "slices"

// moved returns f with the weight of each target group that is a key of to moved
// to the target group that it is led to, which is added where it is missing. The
// rest of the weights and the order stay. A sum above AWS's limit of a weight is
// that limit. Stickiness is sticky; with nothing to move f is returned.
func (f Forward) moved(to map[string]string, sticky int32) Forward {
	gains := make(map[string]int32)
	var order []string // of the gainers, so that equal inputs give equal outputs
	out := Forward{Weights: slices.Clone(f.Weights), Sticky: sticky}
	for i, w := range f.Weights {
		sink, ok := to[w.TargetGroup]
		if !ok || w.Weight == 0 {
			continue
		}
		if _, seen := gains[sink]; !seen {
			order = append(order, sink)
		}
		out.Weights[i].Weight = 0
		gains[sink] += w.Weight
	}
	if len(gains) == 0 {
		return f
	}
	for _, sink := range order {
		i := slices.IndexFunc(out.Weights, func(w Weight) bool { return w.TargetGroup == sink })
		if i < 0 {
			i = len(out.Weights)
			out.Weights = append(out.Weights, Weight{TargetGroup: sink})
		}
		out.Weights[i].Weight = min(out.Weights[i].Weight+gains[sink], maxWeight)
	}
	return out
}

// emptied returns the target groups that have weight in f and none in actual.
func (f Forward) emptied(actual Forward) map[string]bool {
	empty := make(map[string]bool)
	for _, w := range f.Weights {
		if now, there := actual.of(w.TargetGroup); there && now == 0 && w.Weight > 0 {
			empty[w.TargetGroup] = true
		}
	}
	return empty
}

// isMoved reports whether actual is f with the weights of empty moved by sinks.
// Stickiness is then off, or one second where a target group asks for some.
func (f Forward) isMoved(actual Forward, empty map[string]bool, sinks map[string]string) bool {
	if len(empty) == 0 {
		return f.equal(actual)
	}
	to := make(map[string]string)
	for tg := range empty {
		sink, ok := sinks[tg]
		if !ok {
			return false
		}
		to[tg] = sink
	}
	return actual.Sticky <= leastSticky && f.moved(to, actual.Sticky).equal(actual)
}

// leastSticky is the group stickiness of a moved rule one of whose target groups
// has target stickiness on: ALB wants both then.
const leastSticky = 1

// couldBeMoved is isMoved where nobody knows where the weights were led: to one
// target group, whichever it is.
func (f Forward) couldBeMoved(actual Forward) bool {
	empty := f.emptied(actual)
	for _, w := range actual.Weights {
		sinks := make(map[string]string)
		for tg := range empty {
			sinks[tg] = w.TargetGroup
		}
		if f.isMoved(actual, empty, sinks) {
			return true
		}
	}
	return false
}
