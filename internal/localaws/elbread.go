package localaws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// DescribeRules shows the rules that are named by their ARNs.
func (e *ELB) DescribeRules(_ context.Context, in *elb.DescribeRulesInput, _ ...func(*elb.Options)) (*elb.DescribeRulesOutput, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.enter("DescribeRules", strings.Join(in.RuleArns, " "), false); err != nil {
		return nil, err
	}
	out := &elb.DescribeRulesOutput{}
	for _, arn := range in.RuleArns {
		r, err := e.read(arn)
		if err != nil {
			return nil, err
		}
		out.Rules = append(out.Rules, r)
	}
	slices.Reverse(out.Rules) // the order is not promised
	return out, nil
}

// DescribeTags shows the tags of up to 20 rules.
func (e *ELB) DescribeTags(_ context.Context, in *elb.DescribeTagsInput, _ ...func(*elb.Options)) (*elb.DescribeTagsOutput, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.enter("DescribeTags", strings.Join(in.ResourceArns, " "), false); err != nil {
		return nil, err
	}
	if len(in.ResourceArns) > 20 {
		return nil, Error("ValidationError", "more than 20 resources")
	}
	out := &elb.DescribeTagsOutput{}
	for _, arn := range in.ResourceArns {
		d := types.TagDescription{ResourceArn: &arn}
		for _, k := range slices.Sorted(maps.Keys(e.Tags[arn])) {
			d.Tags = append(d.Tags, types.Tag{Key: aws.String(k), Value: aws.String(e.Tags[arn][k])})
		}
		out.TagDescriptions = append(out.TagDescriptions, d)
	}
	return out, nil
}

// DescribeTargetHealth shows how the targets of one target group are.
func (e *ELB) DescribeTargetHealth(_ context.Context, in *elb.DescribeTargetHealthInput, _ ...func(*elb.Options)) (*elb.DescribeTargetHealthOutput, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.enter("DescribeTargetHealth", aws.ToString(in.TargetGroupArn), false); err != nil {
		return nil, err
	}
	if e.balancer != nil {
		return e.healthThere(aws.ToString(in.TargetGroupArn))
	}
	states, told := e.Health[aws.ToString(in.TargetGroupArn)]
	if !told {
		states = []types.TargetHealthStateEnum{types.TargetHealthStateEnumHealthy}
	}
	out := &elb.DescribeTargetHealthOutput{}
	for _, s := range states {
		h := &types.TargetHealth{State: s}
		if s == types.TargetHealthStateEnumUnavailable {
			h.Reason = types.TargetHealthReasonEnumHealthCheckDisabled
		}
		out.TargetHealthDescriptions = append(out.TargetHealthDescriptions, types.TargetHealthDescription{TargetHealth: h})
	}
	return out, nil
}

// DescribeTargetGroupAttributes shows whether target stickiness is on.
func (e *ELB) DescribeTargetGroupAttributes(_ context.Context, in *elb.DescribeTargetGroupAttributesInput, _ ...func(*elb.Options)) (*elb.DescribeTargetGroupAttributesOutput, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.enter("DescribeTargetGroupAttributes", aws.ToString(in.TargetGroupArn), false); err != nil {
		return nil, err
	}
	return &elb.DescribeTargetGroupAttributesOutput{Attributes: []types.TargetGroupAttribute{
		{Key: aws.String("stickiness.enabled"), Value: aws.String(fmt.Sprint(e.Sticky[aws.ToString(in.TargetGroupArn)]))},
	}}, nil
}
