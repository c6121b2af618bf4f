package localaws

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
)

// ModifyRule changes a rule's actions. A default rule is refused, as
// FeLvi-zzz/tentez#32 shows it.
func (e *ELB) ModifyRule(_ context.Context, in *elb.ModifyRuleInput, _ ...func(*elb.Options)) (*elb.ModifyRuleOutput, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.enter("ModifyRule", aws.ToString(in.RuleArn), true); err != nil {
		return nil, err
	}
	if aws.ToBool(e.Rules[aws.ToString(in.RuleArn)].IsDefault) {
		return nil, Error("OperationNotPermitted", "Default rule '"+aws.ToString(in.RuleArn)+"' cannot be modified")
	}
	return &elb.ModifyRuleOutput{}, e.change(aws.ToString(in.RuleArn), in.Actions)
}

// ModifyListener changes the actions of a listener's default rule.
func (e *ELB) ModifyListener(_ context.Context, in *elb.ModifyListenerInput, _ ...func(*elb.Options)) (*elb.ModifyListenerOutput, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.enter("ModifyListener", aws.ToString(in.ListenerArn), true); err != nil {
		return nil, err
	}
	for arn, r := range e.Rules {
		if aws.ToBool(r.IsDefault) && listener(arn) == aws.ToString(in.ListenerArn) {
			return &elb.ModifyListenerOutput{}, e.change(arn, in.DefaultActions)
		}
	}
	return nil, Error("ListenerNotFound", "One or more listeners not found")
}

// AddTags tags one rule.
func (e *ELB) AddTags(_ context.Context, in *elb.AddTagsInput, _ ...func(*elb.Options)) (*elb.AddTagsOutput, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.enter("AddTags", strings.Join(in.ResourceArns, " "), true); err != nil {
		return nil, err
	}
	return &elb.AddTagsOutput{}, e.tag(in.ResourceArns[0], in.Tags)
}

// RemoveTags removes tags of one rule; those that it has not are no error.
func (e *ELB) RemoveTags(_ context.Context, in *elb.RemoveTagsInput, _ ...func(*elb.Options)) (*elb.RemoveTagsOutput, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.enter("RemoveTags", strings.Join(in.ResourceArns, " "), true); err != nil {
		return nil, err
	}
	for _, k := range in.TagKeys {
		delete(e.Tags[in.ResourceArns[0]], k)
	}
	return &elb.RemoveTagsOutput{}, nil
}
