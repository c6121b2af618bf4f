package doctor

import (
	"cmp"
	"maps"
	"slices"

	"github.com/detourhq/detour/internal/rules"
	"github.com/detourhq/detour/pkg/cluster"
)

// remedies say what to do about a rule that does not follow, by its state.
var remedies = map[rules.State]string{
	rules.Foreign:   "if it is right as it is: detour rules --adopt ARN; after a loss of the registry: detour rules --restore; during a deployment: wait",
	rules.Contested: "find who changes it back (CloudTrail, ModifyRule): Terraform without ignore_changes = [action], most often",
	rules.Denied:    "give who moves rules the right that it names: the template's heartbeat function has it for one load balancer",
	rules.Refused:   "mend what it names, or have it moved all the same: detour rules --force",
}

// ruleState tells what the last pass left, which needs no AWS.
func ruleState(f *facts, tell teller) {
	for _, arn := range slices.Sorted(maps.Keys(f.memory)) {
		m := f.memory[arn]
		if do, bad := remedies[m.State]; bad {
			tell(Wrong, arn, "the rule does not follow the pauses ("+string(m.State)+"): "+m.Why, do)
		}
	}
}

// eachRule calls do for each rule that a group lists and AWS has told of.
func (f *facts) eachRule(do func(g cluster.Group, arn string, r rules.Found)) {
	for _, g := range f.groups() {
		for _, arn := range g.MovedRules() {
			if r, ok := f.rules[arn]; ok {
				do(g, arn, r)
			}
		}
	}
}

func rule(f *facts, tell teller) {
	told := make(map[string]bool)
	f.eachRule(func(_ cluster.Group, arn string, r rules.Found) {
		if r.State == "" || told[arn] {
			return
		}
		told[arn] = true
		do := remedies[r.State]
		switch {
		case r.Default:
			do = "set DETOUR_ALLOW_DEFAULT_RULE (parameter AllowDefaultRule), or list another rule"
		case r.State == rules.Refused:
			do = "list a rule that exists and ends in a forward: detour group put ID --rule ARN"
		case r.State == rules.Foreign:
			do = "list another rule: this one is changed by its owner at any time"
		}
		tell(Wrong, arn, "the rule cannot be moved: "+r.Why, do)
	})
}

// fullAction is how many target groups an action may have ("Quotas for your
// Application Load Balancers").
const fullAction = 5

func ruleForward(f *facts, tell teller) {
	f.eachRule(func(g cluster.Group, arn string, r rules.Found) {
		if len(r.Forward.Weights) == 0 {
			return
		}
		sink := f.sinkOf(g, arn)
		has := func(tg string) bool {
			return slices.ContainsFunc(r.Forward.Weights, func(w rules.Weight) bool { return w.TargetGroup == tg })
		}
		others := len(r.Forward.Weights)
		if has(sink) {
			others--
		}
		switch {
		case g.TargetGroup != "" && !has(g.TargetGroup):
			tell(Wrong, arn, "the rule does not forward to group "+g.ID+"'s target group: a pause of the group moves nothing", "detour group put "+g.ID+" --target-group ARN, or list the rule that does")
		case g.TargetGroup == "" && others > 1:
			tell(Wrong, arn, "the rule has several target groups, and group "+g.ID+" does not say which is its own", "detour group put "+g.ID+" --target-group ARN")
		case len(r.Forward.Weights) >= fullAction && !has(sink):
			tell(Wrong, arn, "the rule has five target groups already: there is no room for the redirect function's", "take one out, or add the redirect function's with weight 0")
		}
	})
}

// ruleClaim finds rules that are still moved, or marked so, without a reason.
func ruleClaim(f *facts, tell teller) {
	wanted := make(map[string]bool)
	f.eachRule(func(g cluster.Group, arn string, _ rules.Found) {
		_, _, paused := f.snapshot.Cover(&cluster.Node{Descriptor: cluster.Descriptor{Group: g.ID}}, "", f.now())
		wanted[arn] = wanted[arn] || paused
	})
	for _, arn := range slices.Sorted(maps.Keys(f.rules)) {
		m, known := f.memory[arn]
		switch {
		case !f.rules[arn].Claimed || wanted[arn]:
		case known && (m.State == rules.Pending || m.State == rules.Moved):
			tell(Note, arn, "the rule is on its way back: "+cmp.Or(m.Why, "the next sweep moves it"), "wait; if it takes more than a few minutes, look at the health of its targets")
		default:
			tell(Wrong, arn, "the rule bears Detour's claim, and no group that lists it is paused", "detour rules; where the registry was lost: detour rules --restore")
		}
	}
}
