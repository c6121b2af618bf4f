package localaws

import (
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/detourhq/detour/internal/localalb"
)

const arns = "arn:aws:elasticloadbalancing:us-east-1:123456789012:"

// TargetGroupARN returns the ARN of the balancer's target group called name.
func TargetGroupARN(name string) string { return arns + "targetgroup/" + name + "/" + hash(name) }

// RuleARN returns the ARN of the balancer's rule called name.
func RuleARN(name string) string {
	return arns + "listener-rule/app/local/50dc6c495c0c9188/f2f7dc8efc522ab2/" + hash(name)
}

func hash(name string) string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, name) // a hash never fails
	return fmt.Sprintf("%016x", h.Sum64())
}

// InFrontOf returns the API of lb. It shows those of lb's rules that forward now;
// what it changes of them it changes there, and targets are as healthy as there.
// Nobody else may change these rules. Stickiness is shown, and does nothing.
func InFrontOf(lb *localalb.LoadBalancer) *ELB {
	e := NewELB()
	e.balancer = lb
	for _, r := range lb.Rules() {
		f, forwards := r.Action.(localalb.Forward)
		if !forwards {
			continue
		}
		arn := RuleARN(r.Name)
		e.names[arn] = r.Name
		e.Rules[arn] = types.Rule{RuleArn: &arn, IsDefault: aws.Bool(r.Name == localalb.DefaultRule), Actions: AsRead([]types.Action{forward(f)})}
	}
	return e
}

func forward(f localalb.Forward) types.Action {
	c := &types.ForwardActionConfig{TargetGroupStickinessConfig: &types.TargetGroupStickinessConfig{Enabled: aws.Bool(false)}}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		c.TargetGroups = append(c.TargetGroups, types.TargetGroupTuple{
			TargetGroupArn: aws.String(TargetGroupARN(name)), Weight: aws.Int32(int32(f[name])),
		})
	}
	return types.Action{Type: types.ActionTypeEnumForward, ForwardConfig: c}
}

// changeThere has the load balancer act on a rule's new actions.
func (e *ELB) changeThere(arn string, actions []types.Action) error {
	if len(actions) != 1 || actions[0].ForwardConfig == nil {
		return Error("InvalidLoadBalancerAction", "this load balancer knows weighted forward actions alone")
	}
	weights := make(map[string]int)
	for _, t := range actions[0].ForwardConfig.TargetGroups {
		name, err := e.targetGroup(*t.TargetGroupArn)
		if err != nil {
			return err
		}
		weights[name] = int(aws.ToInt32(t.Weight))
	}
	if err := e.balancer.SetWeights(e.names[arn], weights); err != nil {
		return Error("ValidationError", err.Error())
	}
	return nil
}

// targetGroup returns the name of the balancer's target group with that ARN.
func (e *ELB) targetGroup(arn string) (string, error) {
	parts := strings.Split(arn, "/")
	if len(parts) == 3 && TargetGroupARN(parts[1]) == arn {
		if _, err := e.balancer.Health(parts[1]); err == nil {
			return parts[1], nil
		}
	}
	return "", Error("TargetGroupNotFound", "One or more target groups not found")
}

func (e *ELB) healthThere(arn string) (*elb.DescribeTargetHealthOutput, error) {
	name, err := e.targetGroup(arn)
	if err != nil {
		return nil, err
	}
	targets, err := e.balancer.Health(name)
	if err != nil {
		return nil, Error("TargetGroupNotFound", err.Error())
	}
	out := &elb.DescribeTargetHealthOutput{}
	for _, t := range targets { // its words are those of AWS
		out.TargetHealthDescriptions = append(out.TargetHealthDescriptions, types.TargetHealthDescription{
			Target:       &types.TargetDescription{Id: aws.String(t.Target)},
			TargetHealth: &types.TargetHealth{State: types.TargetHealthStateEnum(t.State), Reason: types.TargetHealthReasonEnum(t.Reason)},
		})
	}
	return out, nil
}
