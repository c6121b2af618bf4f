package template

import (
	"fmt"
	"slices"
)

const arn = "arn:aws:%s:eu-west-1:123456789012:%s"

// allowed says what each role may do: all that it needs, and nothing else. Only
// Describe actions of load balancers and Auto Scaling groups know no resource (AWS,
// "Actions, resources, and condition keys" of both).
var allowed = map[string][]string{
	redirectFunction: {"elasticache:Connect on Cache.ARN", "elasticache:Connect on RedirectUser.Arn"},
	heartbeatFunction: {
		"autoscaling:CompleteLifecycleAction on " + fmt.Sprintf(arn, "autoscaling", "autoScalingGroup:*:autoScalingGroupName/*") + " if " + tagged,
		"autoscaling:DescribeAutoScalingGroups on *",
		"autoscaling:DescribeLifecycleHooks on *",
		"autoscaling:RecordLifecycleActionHeartbeat on " + fmt.Sprintf(arn, "autoscaling", "autoScalingGroup:*:autoScalingGroupName/*") + " if " + tagged,
		"codedeploy:ListDeployments on " + fmt.Sprintf(arn, "codedeploy", "deploymentgroup:*/*"),
		"codedeploy:PutLifecycleEventHookExecutionStatus on " + fmt.Sprintf(arn, "codedeploy", "deploymentgroup:*/*"),
		"ecs:DescribeServices on " + fmt.Sprintf(arn, "ecs", "service/*"),
		"elasticache:Connect on Cache.ARN",
		"elasticache:Connect on HeartbeatUser.Arn",
		"elasticloadbalancing:AddTags on " + fmt.Sprintf(arn, "elasticloadbalancing", "listener-rule/app/lb/1a/*"),
		"elasticloadbalancing:DescribeRules on *",
		"elasticloadbalancing:DescribeTags on *",
		"elasticloadbalancing:DescribeTargetGroupAttributes on *",
		"elasticloadbalancing:DescribeTargetGroups on *",
		"elasticloadbalancing:DescribeTargetHealth on *",
		"elasticloadbalancing:ModifyRule on " + fmt.Sprintf(arn, "elasticloadbalancing", "listener-rule/app/lb/1a/*"),
		"elasticloadbalancing:RemoveTags on " + fmt.Sprintf(arn, "elasticloadbalancing", "listener-rule/app/lb/1a/*"),
	},
	"NodePolicy":     {"elasticache:Connect on Cache.ARN", "elasticache:Connect on NodeUser.Arn"},
	"OperatorPolicy": {"lambda:InvokeFunction on HeartbeatFunction.Arn"},
}

const tagged = "map[StringEquals:map[autoscaling:ResourceTag/detour:cluster:default]]"

// policiesAllowWhatIsNeeded reads what cfn-lint overlooks in the source.
func policiesAllowWhatIsNeeded(h house) []string {
	var f faults
	for _, function := range h.of("AWS::Serverless::Function") {
		f.want("permissions of "+function, grants(h.with().value(h.property(function, "Policies"))), allowed[function])
	}
	for _, policy := range h.of("AWS::IAM::ManagedPolicy") {
		f.want("permissions of "+policy, grants(h.with().value([]any{h.property(policy, "PolicyDocument")})), allowed[policy])
	}
	f.want("functions and policies", len(h.of("AWS::Serverless::Function"))+len(h.of("AWS::IAM::ManagedPolicy")), len(allowed))

	all := h.with("AllowDefaultRule", "true").value(h.property(heartbeatFunction, "Policies"))
	more := "elasticloadbalancing:ModifyListener on " + fmt.Sprintf(arn, "elasticloadbalancing", "listener/app/lb/1a/*")
	f.check(slices.Contains(grants(all), more), "AllowDefaultRule does not bring %s", more)
	own := h.with("RedisUrl", ownURL).value(h.property(redirectFunction, "Policies"))
	f.want("permissions of "+redirectFunction+" with a registry of one's own", grants(own), []string(nil))
	return f
}

// grants returns what documents allow, in order: ACTION on RESOURCE [if CONDITION].
func grants(documents any) (all []string) {
	list, _ := documents.([]any)
	for _, document := range list {
		statements, _ := at(document, "Statement").([]any)
		for _, s := range statements {
			condition := ""
			if c := at(s, "Condition"); c != nil {
				condition = fmt.Sprint(" if ", c)
			}
			for _, action := range texts(at(s, "Action")) {
				for _, resource := range texts(at(s, "Resource")) {
					all = append(all, fmt.Sprint(at(s, "Effect"), " ", action, " on ", resource, condition)[len("Allow "):])
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

func rolesHaveTheBoundary(h house) []string {
	var f faults
	const boundary = "arn:aws:iam::123456789012:policy/boundary"
	f.want("roles", h.of("AWS::IAM::Role"), []string(nil))
	for what, v := range map[string]any{
		"functions": at(h.root, "Globals", "Function", "PermissionsBoundary"),
		"schedule":  h.property(heartbeatFunction, "Events", "Tick", "Properties", "PermissionsBoundary"),
	} {
		f.want("boundary of "+what, h.with("PermissionsBoundaryArn", boundary).value(v), boundary)
		f.want("boundary of "+what+" by default", h.with().value(v), nil)
	}
	return f
}
