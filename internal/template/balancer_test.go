package template

import "fmt"

// loadBalancerMayInvoke holds target and permission together. Without DependsOn
// the group may be made first, and refused (github.com/aws/aws-cdk/issues/4663).
func loadBalancerMayInvoke(h house) []string {
	var f faults
	const permission, group = "RedirectPermission", "RedirectTargetGroup"
	s := h.with()
	f.want("DependsOn of the target group", at(h.resources(), group, "DependsOn"), permission)
	f.want("targets", h.property(group, "Targets"), []any{object{"Id": h.property(permission, "FunctionName")}})
	f.want("FunctionName", h.property(permission, "FunctionName"), object{"Fn::GetAtt": redirectFunction + ".Arn"})
	f.want("Action", h.property(permission, "Action"), "lambda:InvokeFunction")
	f.want("Principal", h.property(permission, "Principal"), "elasticloadbalancing.amazonaws.com")
	f.want("SourceArn", s.value(h.property(permission, "SourceArn")), "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/*")
	f.want("SourceAccount", h.property(permission, "SourceAccount"), object{"Ref": "AWS::AccountId"})
	return f
}

// targetGroupTakesMultiValues knows that any other attribute, and a port, are
// refused at a function's target group, by the deployment only.
func targetGroupTakesMultiValues(h house) []string {
	var f faults
	const group = "RedirectTargetGroup"
	f.want("target groups", h.of("AWS::ElasticLoadBalancingV2::TargetGroup"), []string{group})
	f.want("properties", members(at(h.resources(), group, "Properties")),
		[]string{"HealthCheckEnabled", "TargetGroupAttributes", "TargetType", "Targets"})
	f.want("TargetType", h.property(group, "TargetType"), "lambda")
	f.want("HealthCheckEnabled", h.property(group, "HealthCheckEnabled"), false)
	f.want("attributes", h.property(group, "TargetGroupAttributes"), []any{object{"Key": "lambda.multi_value_headers.enabled", "Value": "true"}})
	return f
}

// listenerRulesRest wants no rule by default, and of each that is made the weights
// that it has while nothing is paused.
func listenerRulesRest(h house) []string {
	var f faults
	app, first, second := object{"Ref": "AppTargetGroupArn"}, object{"Ref": "Route1TargetGroupArn"}, object{"Ref": "Route2TargetGroupArn"}
	redirect := object{"TargetGroupArn": object{"Ref": "RedirectTargetGroup"}, "Weight": 0}
	front := []any{field("host-header", "HostHeaderConfig", "a.example.com", "b.example.com"), field("path-pattern", "PathPatternConfig", "/*")}
	expected := map[string]struct {
		condition, priority string
		targets, conditions []any
	}{
		"FrontRule":       {"HasFrontRule", "RulePriority", []any{forward(app), redirect}, front},
		"LargeBodyRule":   {"HasLargeBodyRules", "LargeBodyPriority", []any{forward(app)}, append(front[:2:2], header("Content-Length", "RegexValues", "^[0-9]{7,}$"))},
		"ChunkedBodyRule": {"HasLargeBodyRules", "ChunkedBodyPriority", []any{forward(app)}, append(front[:2:2], header("Transfer-Encoding", "Values", "*chunked*"))},
		"Route1Rule":      {"HasRoute1", "Route1Priority", []any{forward(first), redirect}, []any{query("*~one")}},
		"Route2Rule":      {"HasRoute2", "Route2Priority", []any{forward(second), redirect}, []any{query("*~two")}},
	}
	s := h.with("FrontHosts", "a.example.com,b.example.com", "Route1", "one", "Route2", "two")
	for _, name := range h.of("AWS::ElasticLoadBalancingV2::ListenerRule") {
		want := expected[name]
		f.want(name+" Condition", at(h.resources(), name, "Condition"), want.condition)
		f.check(!h.with().condition(section(h, "Conditions")[want.condition]), "%s is made by default", name)
		f.want(name+" properties", members(at(h.resources(), name, "Properties")), []string{"Actions", "Conditions", "ListenerArn", "Priority"})
		f.want(name+" ListenerArn", h.property(name, "ListenerArn"), object{"Ref": "ListenerArn"})
		f.want(name+" Priority", h.property(name, "Priority"), object{"Ref": want.priority})
		f.want(name+" Conditions", s.value(h.property(name, "Conditions")), want.conditions)
		f.want(name+" Actions", h.property(name, "Actions"), []any{object{"Type": "forward", "ForwardConfig": object{"TargetGroups": want.targets}}})
	}
	f.want("rules", len(h.of("AWS::ElasticLoadBalancingV2::ListenerRule")), len(expected))
	without, _ := h.with().value(h.property("FrontRule", "Conditions")).([]any)
	f.want("conditions of the front rule without hosts", fmt.Sprint(without), fmt.Sprint(front[1:]))
	return f
}

func forward(group object) object { return object{"TargetGroupArn": group, "Weight": 1} }

func field(name, config string, values ...any) object {
	return object{"Field": name, config: object{"Values": values}}
}

func header(name, kind, value string) object {
	return object{"Field": "http-header", "HttpHeaderConfig": object{"HttpHeaderName": name, kind: []any{value}}}
}

func query(value string) object {
	return object{"Field": "query-string", "QueryStringConfig": object{"Values": []any{object{"Key": "detour", "Value": value}}}}
}
