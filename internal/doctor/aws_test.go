package doctor

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	scalingtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/detourhq/detour/internal/rules"
	"github.com/detourhq/detour/pkg/cluster"
)

// ruleIs changes the rule as AWS shows it.
func ruleIs(change func(r *rules.Found)) func(f *facts) {
	return func(f *facts) {
		r := f.rules[front]
		change(&r)
		f.rules[front] = r
	}
}

func forwards(tgs ...string) func(f *facts) {
	return ruleIs(func(r *rules.Found) {
		r.Forward.Weights = nil
		for _, tg := range tgs {
			r.Forward.Weights = append(r.Forward.Weights, rules.Weight{TargetGroup: tg, Weight: 1})
		}
	})
}

func remembers(s rules.State) func(f *facts) {
	return func(f *facts) { f.memory[front] = rules.RuleMemory{State: s, Why: "somebody"} }
}

func both(changes ...func(f *facts)) func(f *facts) {
	return func(f *facts) {
		for _, change := range changes {
			change(f)
		}
	}
}

func TestRules(t *testing.T) {
	claimed := ruleIs(func(r *rules.Found) { r.Claimed = true })
	inspect(t, []row{
		{"the last pass was denied", remembers(rules.Denied), found("wrong rule-state " + front)},
		{"it was foreign", remembers(rules.Foreign), found("wrong rule-state " + front)},
		{"it was contested", remembers(rules.Contested), found("wrong rule-state " + front)},
		{"it was refused", remembers(rules.Refused), found("wrong rule-state " + front)},
		{"it was moved", remembers(rules.Moved), nil},
		{"it waits", remembers(rules.Pending), nil},
		{"a rule does not exist", ruleIs(func(r *rules.Found) { *r = rules.Found{State: rules.Refused, Why: "the rule does not exist"} }), found("wrong rule " + front)},
		{"a default rule that may not be moved", ruleIs(func(r *rules.Found) { r.Default, r.State, r.Why = true, rules.Refused, "not allowed" }), found("wrong rule " + front)},
		{"a default rule that may", ruleIs(func(r *rules.Found) { r.Default = true }), nil},
		{"a controller's rule", ruleIs(func(r *rules.Found) { r.State, r.Why = rules.Foreign, "Kubernetes" }), found("wrong rule " + front)},
		{"the rule does not forward to a group", forwards(blueTG), found("wrong rule-forward " + front)},
		{"a group does not say which is its own", func(f *facts) {
			f.change("blue", func(g *cluster.Group) { g.TargetGroup = "" })
		}, found("wrong rule-forward " + front)},
		{"it need not where there is one", both(forwards(blueTG, sinkTG), func(f *facts) {
			f.change("blue", func(g *cluster.Group) { g.TargetGroup = "" })
			f.change("green", func(g *cluster.Group) { g.Rules = nil })
		}), nil},
		{"four target groups", forwards(blueTG, greenTG, "c", "d"), nil},
		{"five target groups", forwards(blueTG, greenTG, "c", "d", "e"), found("wrong rule-forward "+front, "wrong rule-forward "+front)},
		{"five with the redirect function's", forwards(blueTG, greenTG, "c", "d", sinkTG), nil},
		{"a claim without a pause", claimed, found("wrong rule-claim " + front)},
		{"a claim on its way back", both(claimed, remembers(rules.Pending)), found("note rule-claim " + front)},
		{"a claim that the next sweep takes", both(claimed, remembers(rules.Moved)), found("note rule-claim " + front)},
		{"a claim of a paused group", both(claimed, func(f *facts) {
			f.snapshot.Pauses[cluster.GroupTarget("green")] = cluster.Pause{Mode: cluster.Redirect, Since: now, Until: now + 1}
		}), nil},
		{"a claim of a pause that is over", both(claimed, func(f *facts) {
			f.snapshot.Pauses[cluster.GroupTarget("green")] = cluster.Pause{Mode: cluster.Redirect, Since: now, Until: now}
		}), found("wrong rule-claim " + front)},
	})
}

func targetIs(arn string, change func(tg *targetGroup)) func(f *facts) {
	return func(f *facts) {
		tg := f.targets[arn]
		change(&tg)
		f.targets[arn] = tg
	}
}

func TestTargetGroups(t *testing.T) {
	other := []string{account + "loadbalancer/app/web/9z"}
	large := func(f *facts) {
		f.change("blue", func(g *cluster.Group) { g.LargeBodyRule, g.LargeBodyTargetGroup = front+"d", greenTG })
	}
	inspect(t, []row{
		{"the redirect function's does not exist", targetIs(sinkTG, func(tg *targetGroup) { *tg = targetGroup{} }), found("wrong redirect-target-group " + sinkTG)},
		{"it is no Lambda function's", targetIs(sinkTG, func(tg *targetGroup) { tg.TargetType = types.TargetTypeEnumIp }), found("wrong redirect-target-group " + sinkTG)},
		{"it belongs to another load balancer", targetIs(sinkTG, func(tg *targetGroup) { tg.LoadBalancerArns = other }), found("wrong load-balancer "+front, "wrong load-balancer "+front)},
		{"it belongs to none yet", targetIs(sinkTG, func(tg *targetGroup) { tg.LoadBalancerArns = nil }), nil},
		{"large bodies go to the same load balancer", large, nil},
		{"large bodies go to another load balancer", both(large, targetIs(greenTG, func(tg *targetGroup) { tg.LoadBalancerArns = other })), found("wrong load-balancer " + front + "d")},
		{"multi-value headers are off", targetIs(sinkTG, func(tg *targetGroup) { tg.attributes = nil }), found("wrong multi-value " + sinkTG)},
		{"a group's own does not exist", targetIs(blueTG, func(tg *targetGroup) { *tg = targetGroup{} }), found("wrong health-check " + blueTG)},
		{"a group is not checked", targetIs(blueTG, func(tg *targetGroup) { tg.HealthCheckEnabled = aws.Bool(false) }), found("warning health-check " + blueTG)},
		{"the gate is not asked", targetIs(blueTG, func(tg *targetGroup) { tg.HealthCheckPath = aws.String("/") }), found("note health-check " + blueTG)},
		{"there is no gate to ask", both(targetIs(blueTG, func(tg *targetGroup) { tg.HealthCheckPath = aws.String("/") }), func(f *facts) {
			f.snapshot.Nodes[0].Figures, f.snapshot.Nodes[1].Figures = nil, nil
		}), found("warning figures node:b1", "warning figures node:b2")},
	})
}

func TestLifecycleHooks(t *testing.T) {
	hooks := func(list ...scalingtypes.LifecycleHook) func(f *facts) {
		return func(f *facts) { f.hooks["web"] = list }
	}
	launch := hook(300, "ABANDON")
	launch.LifecycleTransition = aws.String("autoscaling:EC2_INSTANCE_LAUNCHING")
	inspect(t, []row{
		{"the group does not exist", func(f *facts) { delete(f.scaling, "web") }, found("wrong lifecycle-hooks asg:web")},
		{"it bears no tag", func(f *facts) { f.scaling["web"] = scalingtypes.AutoScalingGroup{} }, found("wrong lifecycle-hooks asg:web")},
		{"it bears another cluster's", func(f *facts) { f.scaling["web"].Tags[0].Value = aws.String("us") }, found("wrong lifecycle-hooks asg:web")},
		{"it has no hook", hooks(), found("wrong lifecycle-hooks asg:web")},
		{"it has one for launching alone", hooks(launch), found("wrong lifecycle-hooks asg:web")},
		{"the hook waits two minutes", hooks(hook(120, "CONTINUE")), nil},
		{"the hook waits less", hooks(hook(119, "CONTINUE")), found("warning lifecycle-hooks asg:web/detour")},
		{"the hook waits an hour", hooks(hook(3600, "CONTINUE")), nil},
		{"the hook waits longer", hooks(hook(3601, "CONTINUE")), found("warning lifecycle-hooks asg:web/detour")},
		{"the hook abandons", hooks(hook(300, "ABANDON")), found("warning lifecycle-hooks asg:web/detour")},
		{"no group has such a source", func(f *facts) {
			f.change("blue", func(g *cluster.Group) { g.Sources = nil })
			f.scaling = nil
		}, nil},
	})
}
