package doctor

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/detourhq/detour/pkg/cluster"
)

// redirects lists the redirect function's target groups, each with one group that
// is moved to it.
func (f *facts) redirects() map[string]cluster.Group {
	all := make(map[string]cluster.Group)
	for _, g := range f.groups() {
		if arn := f.sinkOf(g, ""); arn != "" && len(g.Rules) > 0 {
			all[arn] = g
		}
	}
	return all
}

func redirectTargetGroup(f *facts, tell teller) {
	redirects := f.redirects()
	for _, arn := range slices.Sorted(maps.Keys(redirects)) {
		g, tg := redirects[arn], f.targets[arn]
		switch {
		case tg.TargetGroupArn == nil:
			tell(Wrong, arn, "the target group of the redirect function that group "+g.ID+" is moved to does not exist", "detour group put "+g.ID+" --detour-target-group ARN: the stack's output RedirectTargetGroupArn")
		case tg.TargetType != types.TargetTypeEnumLambda:
			tell(Wrong, arn, "group "+g.ID+" is moved to a target group that is no Lambda function's", "detour group put "+g.ID+" --detour-target-group ARN: the stack's output RedirectTargetGroupArn")
		}
	}
}

// sameBalancer knows that a target group belongs to one load balancer at most.
func sameBalancer(f *facts, tell teller) {
	for _, g := range f.groups() {
		for _, rule := range g.MovedRules() {
			sink, own := f.sinkOf(g, rule), balancerOf(rule)
			tg := f.targets[sink]
			if own == "" || len(tg.LoadBalancerArns) == 0 || balancerOf(tg.LoadBalancerArns[0]) == own {
				continue
			}
			tell(Wrong, rule, "group "+g.ID+"'s rule cannot be moved: target group "+sink+" belongs to another load balancer", "make a Lambda target group for this one (output RedirectFunctionArn), and name it by --detour-target-group")
		}
	}
}

// balancerOf returns NAME/ID of the load balancer that a rule's or a load
// balancer's ARN names: …:listener-rule/app/NAME/ID/…, …:loadbalancer/app/NAME/ID.
func balancerOf(arn string) string {
	_, path, found := strings.Cut(arn, "/app/")
	parts := strings.Split(path, "/")
	if !found || len(parts) < 2 {
		return ""
	}
	return parts[0] + "/" + parts[1]
}

func multiValue(f *facts, tell teller) {
	for _, arn := range slices.Sorted(maps.Keys(f.redirects())) {
		tg := f.targets[arn]
		if tg.TargetType == types.TargetTypeEnumLambda && tg.attributes["lambda.multi_value_headers.enabled"] != "true" {
			tell(Wrong, arn, "multi-value headers are off: of a repeated query key only the last value survives a redirect",
				"aws elbv2 modify-target-group-attributes --target-group-arn ARN --attributes Key=lambda.multi_value_headers.enabled,Value=true")
		}
	}
}

// gatePath is where a gate tells a load balancer that its node is paused.
const gatePath = "/_health"

func healthCheck(f *facts, tell teller) {
	members := f.members()
	for _, g := range f.groups() {
		tg, read := f.targets[g.TargetGroup]
		path := aws.ToString(tg.HealthCheckPath)
		gates := 0
		for _, n := range members[g.ID] {
			if n.Figures != nil {
				gates++
			}
		}
		switch {
		case !read:
		case tg.TargetGroupArn == nil:
			tell(Wrong, g.TargetGroup, "group "+g.ID+"'s target group does not exist", "detour group put "+g.ID+" --target-group ARN")
		case tg.HealthCheckEnabled != nil && !*tg.HealthCheckEnabled:
			tell(Warning, g.TargetGroup, "group "+g.ID+"'s target group is not health-checked: a paused node goes on getting traffic", "switch its health check on")
		case path == gatePath && gates < len(members[g.ID]):
			tell(Warning, g.TargetGroup, "its health check asks "+gatePath+" of a gate, and some nodes of group "+g.ID+" have none", "run the application behind a gate, or check a path of its own")
		case path != gatePath && gates > 0:
			tell(Note, g.TargetGroup, "its health check asks "+path+", not the gate: a paused node of group "+g.ID+" stays in the target group as long as the application is well", "let the health check ask "+gatePath)
		}
	}
}
