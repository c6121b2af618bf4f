package rules

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// atOnce is how many resources one DescribeTags may name; DescribeRules gets as
// many.
const atOnce = 20

// batchesAtOnce keeps a slow AWS from using up a pass's time with reads, however
// many rules there are: a pass that has time for one write comes to an end some day.
const batchesAtOnce = 5

// found is one rule as it was read.
type found struct {
	rule types.Rule
	tags map[string]string
	err  error // why it could not be
}

// read reads rules and then their tags. The order matters: another pass puts a
// rule back before it takes the tags away, and tags it before it moves it. Read
// the other way round, a moved rule might seem to rest so. The error is one that
// says nothing of the rules.
func (r *Reconciler) read(ctx context.Context, arns []string) (map[string]*found, error) {
	all := make(map[string]*found)
	batches := slices.Collect(slices.Chunk(arns, atOnce))
	for some := range slices.Chunk(batches, batchesAtOnce) {
		parts, errs := make([]map[string]*found, len(some)), make([]error, len(some))
		var reads sync.WaitGroup
		for i, batch := range some {
			parts[i] = make(map[string]*found)
			reads.Go(func() { errs[i] = r.readBatch(ctx, batch, parts[i]) })
		}
		reads.Wait()
		if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
			return nil, errs[i]
		}
		for _, part := range parts {
			maps.Copy(all, part)
		}
	}
	return all, nil
}

func (r *Reconciler) readBatch(ctx context.Context, batch []string, into map[string]*found) error {
	if err := r.each(ctx, batch, into, r.readRules); err != nil {
		return err
	}
	there := slices.DeleteFunc(slices.Clone(batch), func(arn string) bool { return into[arn].err != nil })
	if len(there) == 0 {
		return nil
	}
	return r.each(ctx, there, into, r.readTags)
}

type reader func(ctx context.Context, arns []string, into map[string]*found) error

// each reads a batch, or, where AWS refuses it for one of its rules, its halves.
func (r *Reconciler) each(ctx context.Context, batch []string, into map[string]*found, read reader) error {
	err := read(ctx, batch, into)
	var told *stateError
	switch {
	case !errors.As(err, &told):
		return err
	case told.state == Refused && len(batch) > 1:
		half := len(batch) / 2
		if err := r.each(ctx, batch[:half], into, read); err != nil {
			return err
		}
		return r.each(ctx, batch[half:], into, read)
	}
	for _, arn := range batch {
		into[arn] = &found{err: told}
	}
	return nil
}

func (r *Reconciler) readRules(ctx context.Context, arns []string, into map[string]*found) error {
	out, err := call(ctx, r, "read rules", r.api.DescribeRules, &elb.DescribeRulesInput{RuleArns: arns}, always)
	if err != nil {
		return err
	}
	for _, arn := range arns {
		into[arn] = &found{err: errGone()}
	}
	for _, rule := range out.Rules {
		into[aws.ToString(rule.RuleArn)] = &found{rule: rule, tags: make(map[string]string)}
	}
	return nil
}

func (r *Reconciler) readTags(ctx context.Context, arns []string, into map[string]*found) error {
	out, err := call(ctx, r, "read tags", r.api.DescribeTags, &elb.DescribeTagsInput{ResourceArns: arns}, always)
	if err != nil {
		return err
	}
	for _, d := range out.TagDescriptions {
		f := into[aws.ToString(d.ResourceArn)]
		for _, tag := range d.Tags {
			if f != nil {
				f.tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
			}
		}
	}
	return nil
}

// readRule reads one rule alone.
func (r *Reconciler) readRule(ctx context.Context, arn string) (types.Rule, Forward, error) {
	one := make(map[string]*found)
	if err := r.readRules(ctx, []string{arn}, one); err != nil {
		return types.Rule{}, Forward{}, err
	}
	if one[arn].err != nil {
		return types.Rule{}, Forward{}, one[arn].err
	}
	f, err := forwardOf(one[arn].rule.Actions)
	if err != nil {
		return types.Rule{}, Forward{}, &stateError{state: Refused, why: "the rule " + err.Error()}
	}
	return one[arn].rule, f, nil
}

// sticky reports whether target stickiness is on in the target group.
func (r *Reconciler) sticky(ctx context.Context, targetGroup string) (bool, error) {
	in := &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: &targetGroup}
	out, err := call(ctx, r, "read attributes of target group "+id(targetGroup), r.api.DescribeTargetGroupAttributes, in, always)
	if err != nil {
		return false, err
	}
	for _, a := range out.Attributes {
		if aws.ToString(a.Key) == "stickiness.enabled" {
			on, _ := strconv.ParseBool(aws.ToString(a.Value))
			return on, nil
		}
	}
	return false, nil
}
