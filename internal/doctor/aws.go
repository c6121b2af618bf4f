package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	scalingtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"

	"github.com/detourhq/detour/internal/rules"
	"github.com/detourhq/detour/pkg/cluster"
)

// AWS is what is asked of AWS: a [rules.Reconciler], and clients of its services.
type AWS struct {
	Rules interface {
		Look(ctx context.Context, arns []string) (map[string]rules.Found, error)
	}
	Balancer interface {
		DescribeTargetGroups(context.Context, *elb.DescribeTargetGroupsInput, ...func(*elb.Options)) (*elb.DescribeTargetGroupsOutput, error)
		DescribeTargetGroupAttributes(context.Context, *elb.DescribeTargetGroupAttributesInput, ...func(*elb.Options)) (*elb.DescribeTargetGroupAttributesOutput, error)
	}
	AutoScaling interface {
		DescribeAutoScalingGroups(context.Context, *autoscaling.DescribeAutoScalingGroupsInput, ...func(*autoscaling.Options)) (*autoscaling.DescribeAutoScalingGroupsOutput, error)
		DescribeLifecycleHooks(context.Context, *autoscaling.DescribeLifecycleHooksInput, ...func(*autoscaling.Options)) (*autoscaling.DescribeLifecycleHooksOutput, error)
	}
}

// outside is what AWS tells. What does not exist is not in it, or zero.
type outside struct {
	rules   map[string]rules.Found // by ARN
	targets map[string]targetGroup // by ARN
	hooks   map[string][]scalingtypes.LifecycleHook
	scaling map[string]scalingtypes.AutoScalingGroup // by name
}

// targetGroup is a target group and, if a redirect function's, its attributes.
type targetGroup struct {
	types.TargetGroup
	attributes map[string]string
}

// askTimeout bounds one call.
const askTimeout = 2 * time.Second

type operation[In, Out, Options any] func(context.Context, *In, ...func(*Options)) (*Out, error)

func ask[In, Out, Options any](ctx context.Context, do operation[In, Out, Options], in *In) (*Out, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return do(ctx, in)
}

// isCode reports whether AWS answered with an error of this code.
func isCode(err error, code string) bool {
	var e smithy.APIError
	return errors.As(err, &e) && e.ErrorCode() == code
}

func (a *AWS) gather(ctx context.Context, f *facts) {
	f.lacks(balancer, func() (err error) { f.rules, err = a.Rules.Look(ctx, f.ruleARNs()); return err })
	f.lacks(targets, func() (err error) { f.targets, err = a.targetGroups(ctx, f); return err })
	f.lacks(scaling, func() (err error) { f.scaling, f.hooks, err = a.scalingGroups(ctx, f); return err })
}

// ruleARNs lists the rules that groups list, and those that are remembered.
func (f *facts) ruleARNs() []string {
	var arns []string
	for _, g := range f.groups() {
		arns = append(arns, g.MovedRules()...)
	}
	for arn := range f.memory {
		arns = append(arns, arn)
	}
	slices.Sort(arns)
	return slices.Compact(arns)
}

func (a *AWS) targetGroups(ctx context.Context, f *facts) (map[string]targetGroup, error) {
	all := make(map[string]targetGroup)
	for _, g := range f.groups() {
		for _, arn := range []string{g.TargetGroup, f.sinkOf(g, ""), g.LargeBodyTargetGroup} {
			if _, read := all[arn]; read || arn == "" {
				continue
			}
			tg, err := a.targetGroup(ctx, arn)
			if err != nil {
				return nil, err
			}
			all[arn] = tg
		}
	}
	return all, nil
}

// targetGroup reads one target group, zero if it does not exist: what is no ARN, as
// AWS puts it, is the name of none.
func (a *AWS) targetGroup(ctx context.Context, arn string) (tg targetGroup, err error) {
	out, err := ask(ctx, a.Balancer.DescribeTargetGroups, &elb.DescribeTargetGroupsInput{TargetGroupArns: []string{arn}})
	if isCode(err, "TargetGroupNotFound") || isCode(err, "ValidationError") || err == nil && len(out.TargetGroups) == 0 {
		return tg, nil
	}
	if err != nil {
		return tg, fmt.Errorf("describe target group: %w", err)
	}
	tg.TargetGroup, tg.attributes = out.TargetGroups[0], make(map[string]string)
	if tg.TargetType != types.TargetTypeEnumLambda {
		return tg, nil
	}
	attributes, err := ask(ctx, a.Balancer.DescribeTargetGroupAttributes, &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: &arn})
	if err != nil {
		return tg, fmt.Errorf("describe attributes of target group: %w", err)
	}
	for _, at := range attributes.Attributes {
		tg.attributes[aws.ToString(at.Key)] = aws.ToString(at.Value)
	}
	return tg, nil
}

// scalingGroups reads the Auto Scaling groups that are sources, and their hooks.
func (a *AWS) scalingGroups(ctx context.Context, f *facts) (map[string]scalingtypes.AutoScalingGroup, map[string][]scalingtypes.LifecycleHook, error) {
	groups, hooks := make(map[string]scalingtypes.AutoScalingGroup), make(map[string][]scalingtypes.LifecycleHook)
	for _, name := range f.scalingNames() {
		out, err := ask(ctx, a.AutoScaling.DescribeAutoScalingGroups, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{name}})
		if err != nil {
			return nil, nil, fmt.Errorf("describe Auto Scaling group %s: %w", name, err)
		}
		if len(out.AutoScalingGroups) == 0 {
			continue
		}
		groups[name] = out.AutoScalingGroups[0]
		told, err := ask(ctx, a.AutoScaling.DescribeLifecycleHooks, &autoscaling.DescribeLifecycleHooksInput{AutoScalingGroupName: &name})
		if err != nil {
			return nil, nil, fmt.Errorf("describe lifecycle hooks of %s: %w", name, err)
		}
		hooks[name] = told.LifecycleHooks
	}
	return groups, hooks, nil
}

func (f *facts) scalingNames() []string {
	var names []string
	for _, g := range f.groups() {
		for _, s := range g.Sources {
			if kind, _, name, ok := cluster.ParseSource(s); ok && kind == cluster.ASG {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
