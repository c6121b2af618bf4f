package template

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// parametersAreKept wants each parameter explained, in one group of the console,
// and used.
func parametersAreKept(h house) []string {
	var f faults
	var grouped []string
	groups, _ := at(h.root, "Metadata", "AWS::CloudFormation::Interface", "ParameterGroups").([]any)
	for _, g := range groups {
		f.check(at(g, "Label", "default") != nil, "a group has no label")
		grouped = append(grouped, texts(at(g, "Parameters"))...)
	}
	f.want("parameters in groups", grouped, order(h.files[templateFile]))
	used := references([]any{h.resources(), h.root["Globals"], h.root["Conditions"]})
	for _, name := range members(h.parameters()) {
		f.check(at(h.parameters(), name, "Description") != nil, "%s is not explained", name)
		f.check(used[name], "%s is not used", name)
	}
	return f
}

var declared = regexp.MustCompile(`(?m)^  (\w+):$`)

// order returns the parameters' names as they stand in text.
func order(text string) (names []string) {
	_, text, _ = strings.Cut(text, "\nParameters:\n")
	text, _, _ = strings.Cut(text, "\nRules:\n")
	for _, m := range declared.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

func conditionsAreUsed(h house) []string {
	var f faults
	used := references([]any{h.resources(), h.root["Globals"], h.root["Outputs"]})
	for _, name := range members(h.root["Conditions"]) {
		f.check(used[name], "%s is not used", name)
	}
	return f
}

// made are the resources that are not always there, by their condition.
var made = map[string][]string{
	"CreateCache": {
		"Cache", "CacheIngress", "CacheSecurityGroup", "CacheThrottledAlarm", "HeartbeatUser", "NodePolicy", "NodeUser", "RedirectUser", "UserGroup",
	},
	"HasAutoScaling":    {"AutoScalingRule", "AutoScalingRulePermission"},
	"HasCodeDeploy":     {"CodeDeployRule", "CodeDeployRulePermission"},
	"HasDashboard":      {"Dashboard"},
	"HasDefaultUser":    {"DefaultUser"},
	"HasEcs":            {"EcsDeploymentRule", "EcsDeploymentRulePermission", "EcsRule", "EcsRulePermission"},
	"HasEndpoints":      {"AutoScalingEndpoint", "CodeDeployEndpoint", "EcsEndpoint", "EndpointSecurityGroup", "LoadBalancingEndpoint"},
	"HasFrontRule":      {"FrontRule"},
	"HasLargeBodyRules": {"ChunkedBodyRule", "LargeBodyRule"},
	"HasRedisGroup":     {"RedisIngress"},
	"HasRoute1":         {"Route1Rule"},
	"HasRoute2":         {"Route2Rule"},
	"HasSpot":           {"SpotRule", "SpotRulePermission"},
}

func resourcesAreMade(h house) []string {
	var f faults
	got := make(map[string][]string)
	for _, name := range members(h.resources()) {
		if condition := at(h.resources(), name, "Condition"); condition != nil {
			got[fmt.Sprint(condition)] = append(got[fmt.Sprint(condition)], name)
		}
	}
	f.want("resources by condition", got, made)
	for _, name := range []string{"Cache", "DeadLetterQueue", "HeartbeatLogGroup", "RedirectLogGroup"} {
		for _, policy := range []string{"DeletionPolicy", "UpdateReplacePolicy"} {
			f.want(name+" "+policy, at(h.resources(), name, policy), "Delete")
		}
	}
	return f
}

// deployListsParameters wants the table of docs/deploy.md to say of each parameter
// what the template says.
func deployListsParameters(h house) []string {
	var f faults
	_, text, _ := strings.Cut(h.files["docs/deploy.md"], "\n| parameter | default | meaning |\n|---|---|---|\n")
	text, _, _ = strings.Cut(text, "\n\n")
	rows := strings.Split(text, "\n")
	for i, name := range order(h.files[templateFile]) {
		p := h.parameters()[name]
		value, has := p.(object)["Default"]
		shown := fmt.Sprintf("`%v`", value)
		switch {
		case !has:
			shown = "required"
		case value == "":
			shown = ""
		}
		row := strings.ReplaceAll(fmt.Sprintf("| `%s` | %s | %v |", name, shown, at(p, "Description")), "|  |", "| |")
		if i >= len(rows) || rows[i] != row {
			f.check(false, "row %d is not %s", i+1, row)
		}
	}
	f.want("rows", len(rows), len(h.parameters()))
	return f
}

// secretsAreNotShown knows that a URL may hold a password.
func secretsAreNotShown(h house) []string {
	var f faults
	for _, name := range []string{"RedisUrl", "HeartbeatRedisUrl", "CacheDefaultUserPassword"} {
		f.want("NoEcho of "+name, at(h.parameters(), name, "NoEcho"), true)
	}
	shown := references([]any{h.root["Outputs"], h.property("Dashboard")})
	for _, name := range members(h.parameters()) {
		f.check(!shown[name] || at(h.parameters(), name, "NoEcho") != true, "%s is shown", name)
	}
	return f
}

func outputsAreExplained(h house) []string {
	var f faults
	for _, name := range []string{
		"DashboardUrl", "DeadLetterQueueUrl", "FrontRuleArn", "GroupCommand", "HeartbeatFunctionName", "NodeCommand", "NodePolicyArn",
		"NodeSecurityGroup", "OperatorPolicyArn", "RedirectFunctionArn", "RedirectTargetGroupArn",
	} {
		f.check(at(h.root, "Outputs", name, "Value") != nil, "there is no %s", name)
	}
	for _, name := range members(h.root["Outputs"]) {
		f.check(at(h.root, "Outputs", name, "Description") != nil, "%s is not explained", name)
		f.want(name+" Export", at(h.root, "Outputs", name, "Export"), nil)
	}
	s := h.with("CreateFrontRule", "true", "AppTargetGroupArn", "arn:app")
	f.want("line for groups", s.value(at(h.root, "Outputs", "GroupCommand", "Value")),
		"detour --function HeartbeatFunction group put blue --rule FrontRule --target-group arn:app")
	return f
}

func versionIsVERSION(h house) []string {
	var f faults
	version := "Detour " + strings.TrimSpace(h.files["VERSION"]) + ": "
	f.check(strings.HasPrefix(fmt.Sprint(h.root["Description"]), version), "Description does not begin with %q", version)
	return f
}

// rulesAssert wants what a resource needs to be asked for before it is made.
func rulesAssert(h house) []string {
	var f faults
	for _, c := range []struct {
		rule, parameter string
		value           any
		needs           []string
	}{
		{"FrontRule", "CreateFrontRule", "true", []string{"AppTargetGroupArn", "RulePriority"}},
		{"LargeBodyRules", "CreateLargeBodyRules", "true", []string{"AppTargetGroupArn", "LargeBodyPriority", "ChunkedBodyPriority"}},
		{"Route1Rule", "Route1", "one", []string{"Route1TargetGroupArn", "Route1Priority"}},
		{"Route2Rule", "Route2", "two", []string{"Route2TargetGroupArn", "Route2Priority"}},
	} {
		rule := at(h.root, "Rules", c.rule)
		f.check(h.with(c.parameter, c.value).condition(at(rule, "RuleCondition")), "%s does not begin with %s", c.rule, c.parameter)
		f.check(!h.with().condition(at(rule, "RuleCondition")), "%s holds by default", c.rule)
		for _, needed := range c.needs {
			f.check(!asserts(h.with(), rule) && asserted(h, rule, needed), "%s does not need %s", c.rule, needed)
		}
	}
	own := at(h.root, "Rules", "OwnRegistry")
	for _, name := range []string{"HeartbeatRedisUrl", "RedisSecurityGroupId"} {
		f.check(asserts(h.with(), own) && !asserts(h.with(name, "x"), own), "OwnRegistry takes %s", name)
	}
	return f
}

// asserted reports whether a rule has an assertion about one parameter alone.
func asserted(h house, rule any, parameter string) bool {
	list, _ := at(rule, "Assertions").([]any)
	return slices.ContainsFunc(list, func(a any) bool {
		return !h.with().condition(at(a, "Assert")) && h.with(parameter, "x").condition(at(a, "Assert"))
	})
}

func asserts(s setting, rule any) bool {
	list, _ := at(rule, "Assertions").([]any)
	return len(list) > 0 && !slices.ContainsFunc(list, func(a any) bool { return !s.condition(at(a, "Assert")) })
}
