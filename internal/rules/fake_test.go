package rules

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
)

// fake is a load balancer that refuses what AWS refuses and moto lets pass. A zero
// value has no rules.
type fake struct {
	mu     sync.Mutex
	rules  map[string]types.Rule
	tags   map[string]map[string]string
	sticky map[string]bool                          // target groups with target stickiness on
	health map[string][]types.TargetHealthStateEnum // one healthy target where none is named
	shown  map[string]types.Rule                    // what reads show while lag lasts
	lag    int                                      // reads of a rule that do not show its last change
	lags   map[string]int
	writes []string // verbs and rules
	calls  int
	before func(verb, arn string) error // may refuse a call
	tokens func() bool                  // whether the bucket has one more for a write; nil: always
}

func apiError(code, message string) error {
	return &smithy.OperationError{ServiceID: "Elastic Load Balancing v2", OperationName: "x", Err: &smithy.GenericAPIError{Code: code, Message: message}}
}

func newFake() *fake {
	return &fake{
		rules: make(map[string]types.Rule), tags: make(map[string]map[string]string), sticky: make(map[string]bool),
		health: make(map[string][]types.TargetHealthStateEnum), shown: make(map[string]types.Rule), lags: make(map[string]int),
	}
}

// enter counts a call. Writes may be throttled.
func (f *fake) enter(verb, arn string, write bool) error {
	f.calls++
	if f.before != nil {
		if err := f.before(verb, arn); err != nil {
			return err
		}
	}
	if write {
		if f.tokens != nil && !f.tokens() {
			return apiError("ThrottlingException", "Rate exceeded")
		}
		f.writes = append(f.writes, verb+" "+arn)
	}
	return nil
}

func (f *fake) DescribeRules(_ context.Context, in *elb.DescribeRulesInput, _ ...func(*elb.Options)) (*elb.DescribeRulesOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.enter("DescribeRules", strings.Join(in.RuleArns, " "), false); err != nil {
		return nil, err
	}
	out := &elb.DescribeRulesOutput{}
	for _, arn := range in.RuleArns {
		r, ok := f.rules[arn]
		if !ok {
			return nil, apiError("RuleNotFound", "One or more rules not found")
		}
		if f.lags[arn] > 0 {
			f.lags[arn]--
			r = f.shown[arn]
		}
		r.Actions = slices.Clone(r.Actions)
		out.Rules = append(out.Rules, r)
	}
	slices.Reverse(out.Rules) // the order is not promised
	return out, nil
}

func (f *fake) DescribeTags(_ context.Context, in *elb.DescribeTagsInput, _ ...func(*elb.Options)) (*elb.DescribeTagsOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.enter("DescribeTags", "", false); err != nil {
		return nil, err
	}
	if len(in.ResourceArns) > 20 {
		return nil, apiError("ValidationError", "more than 20 resources")
	}
	out := &elb.DescribeTagsOutput{}
	for _, arn := range in.ResourceArns {
		d := types.TagDescription{ResourceArn: &arn}
		for _, k := range slices.Sorted(maps.Keys(f.tags[arn])) {
			d.Tags = append(d.Tags, tag(k, f.tags[arn][k]))
		}
		out.TagDescriptions = append(out.TagDescriptions, d)
	}
	return out, nil
}

func (f *fake) DescribeTargetHealth(_ context.Context, in *elb.DescribeTargetHealthInput, _ ...func(*elb.Options)) (*elb.DescribeTargetHealthOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.enter("DescribeTargetHealth", *in.TargetGroupArn, false); err != nil {
		return nil, err
	}
	states, told := f.health[*in.TargetGroupArn]
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

func (f *fake) DescribeTargetGroupAttributes(_ context.Context, in *elb.DescribeTargetGroupAttributesInput, _ ...func(*elb.Options)) (*elb.DescribeTargetGroupAttributesOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.enter("DescribeTargetGroupAttributes", *in.TargetGroupArn, false); err != nil {
		return nil, err
	}
	return &elb.DescribeTargetGroupAttributesOutput{Attributes: []types.TargetGroupAttribute{
		{Key: aws.String("stickiness.enabled"), Value: aws.String(fmt.Sprint(f.sticky[*in.TargetGroupArn]))},
	}}, nil
}

func (f *fake) ModifyRule(_ context.Context, in *elb.ModifyRuleInput, _ ...func(*elb.Options)) (*elb.ModifyRuleOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.enter("ModifyRule", *in.RuleArn, true); err != nil {
		return nil, err
	}
	if aws.ToBool(f.rules[*in.RuleArn].IsDefault) { // as FeLvi-zzz/tentez#32 shows it
		return nil, apiError("OperationNotPermitted", "Default rule '"+*in.RuleArn+"' cannot be modified")
	}
	return &elb.ModifyRuleOutput{}, f.change(*in.RuleArn, in.Actions)
}

func (f *fake) ModifyListener(_ context.Context, in *elb.ModifyListenerInput, _ ...func(*elb.Options)) (*elb.ModifyListenerOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.enter("ModifyListener", *in.ListenerArn, true); err != nil {
		return nil, err
	}
	for arn, r := range f.rules {
		if aws.ToBool(r.IsDefault) && listener(arn) == *in.ListenerArn {
			return &elb.ModifyListenerOutput{}, f.change(arn, in.DefaultActions)
		}
	}
	return nil, apiError("ListenerNotFound", "One or more listeners not found")
}

func (f *fake) AddTags(_ context.Context, in *elb.AddTagsInput, _ ...func(*elb.Options)) (*elb.AddTagsOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.enter("AddTags", in.ResourceArns[0], true); err != nil {
		return nil, err
	}
	return &elb.AddTagsOutput{}, f.tag(in.ResourceArns[0], in.Tags)
}

func (f *fake) RemoveTags(_ context.Context, in *elb.RemoveTagsInput, _ ...func(*elb.Options)) (*elb.RemoveTagsOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.enter("RemoveTags", in.ResourceArns[0], true); err != nil {
		return nil, err
	}
	for _, k := range in.TagKeys {
		delete(f.tags[in.ResourceArns[0]], k)
	}
	return &elb.RemoveTagsOutput{}, nil
}
