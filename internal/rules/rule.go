package rules

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// rule is one rule in one pass.
type rule struct {
	arn    string
	read   types.Rule
	tags   map[string]string
	actual Forward
	memory RuleMemory

	resting Forward         // what it rests on, as far as is known
	current map[string]bool // the target groups whose weight is moved
	wants   wants
	change  *Change
	why     string // for people, where no error tells it
}

// newRule takes up what was read of a rule. An error is the state that it is in.
func newRule(arn string, f *found, m RuleMemory) (*rule, error) {
	rl := &rule{arn: arn, read: f.rule, tags: f.tags, memory: m}
	if f.err != nil {
		return rl, f.err
	}
	actual, err := forwardOf(f.rule.Actions)
	if err != nil {
		return rl, &stateError{state: Refused, why: "the rule " + err.Error()}
	}
	rl.actual = actual
	return rl, nil
}

// owned returns nil if the rule is one that Detour may change, whatever it is now.
func (rl *rule) owned(c Config) error {
	for _, key := range slices.Sorted(maps.Keys(rl.tags)) {
		if strings.HasPrefix(key, "elbv2.k8s.aws/") || strings.HasPrefix(key, "ingress.k8s.aws/") {
			return &stateError{state: Foreign, why: "the rule belongs to a Kubernetes controller: it is tagged " + key}
		}
	}
	if other, tagged := rl.tags[clusterTag]; tagged && other != c.Cluster {
		return &stateError{state: Foreign, why: "the rule is moved by the cluster " + other}
	}
	if aws.ToBool(rl.read.IsDefault) && !c.AllowDefaultRule {
		return &stateError{state: Refused, why: "it is the default rule of its listener, and these are not allowed to be moved"}
	}
	return nil
}

// tagged reports whether the rule bears our claim.
func (rl *rule) tagged() bool { return rl.tags[restingTag] != "" }

// claimed reports whether it is known, by tag or by memory, what the rule rests on
// apart from what it is.
func (rl *rule) claimed() bool { return rl.tagged() || rl.memory.Resting != nil }

// claim finds out what the rule rests on: the tag is nearest to it, memory helps
// where somebody has removed the tag, and without a claim it rests as it is. On an
// error nothing is known.
func (rl *rule) claim(known []string) error {
	rl.resting = rl.actual
	if rl.memory.Resting != nil {
		rl.resting = *rl.memory.Resting
	}
	if !rl.tagged() {
		return nil
	}
	told, err := decode(rl.tags[restingTag])
	if err != nil {
		rl.resting = Forward{}
		return &stateError{state: Foreign, why: "tag " + restingTag + " cannot be read"}
	}
	for _, f := range []Forward{rl.resting, rl.actual} {
		for _, w := range f.Weights {
			known = append(known, w.TargetGroup)
		}
	}
	f, ok := told.forward(known)
	if !ok {
		rl.resting = Forward{}
		return &stateError{state: Foreign, why: "tag " + restingTag + " names a target group that is not known"}
	}
	rl.resting = f
	return nil
}

// isOurs reports whether the rule is what Detour could have made of what it rests
// on, and takes note of what of it is moved.
func (rl *rule) isOurs(restore bool) bool {
	rl.current = rl.resting.emptied(rl.actual)
	switch {
	case rl.resting.isMoved(rl.actual, rl.current, rl.wants.sinks()):
		return true
	case rl.memory.Written != nil && rl.memory.Written.equal(rl.actual):
		return true
	case restore && rl.resting.couldBeMoved(rl.actual):
		was := rl.actual
		rl.memory.Written = &was
		return true
	}
	return false
}

// isWanted reports whether a pause is in force on a group that lists the rule.
func (rl *rule) isWanted() bool { return rl.wants.pauses != unpaused }

// leftBehind reports whether something of the rule is moved that nobody wants
// moved, and this registry never knew that it was.
func (rl *rule) leftBehind() bool {
	if rl.memory.Resting != nil {
		return false
	}
	for tg := range rl.current {
		if rl.wants.of[tg].mode == "" {
			return true
		}
	}
	return false
}

// traces reports whether something of Detour may be left in the rule: a target
// group has lost its weight, or one of sinks has more than it rests on.
func (rl *rule) traces(sinks []string) bool {
	unknown := len(rl.resting.Weights) == 0
	for _, w := range rl.actual.Weights {
		if unknown && w.Weight == 0 || rl.current[w.TargetGroup] {
			return true
		}
		if rests, _ := rl.resting.of(w.TargetGroup); w.Weight > rests && slices.Contains(sinks, w.TargetGroup) {
			return true
		}
	}
	return false
}

// sink returns where the weight of tg is led to. Where no group says it any more,
// it is where the rule leads it now.
func (rl *rule) sink(tg string) string {
	if w, ok := rl.wants.of[tg]; ok {
		return w.sink
	}
	for _, w := range rl.actual.Weights {
		if rests, _ := rl.resting.of(w.TargetGroup); w.Weight > rests {
			return w.TargetGroup
		}
	}
	return ""
}
