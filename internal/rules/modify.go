package rules

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// carryOut tags the rule, changes it where that is due, and reads it back.
func (p *pass) carryOut(ctx context.Context, rl *rule, desired Forward, tags []types.Tag, due bool) error {
	before := rl.actual
	rl.memory.Resting = &rl.resting
	if due {
		rl.memory.intend(desired)
	}
	if p.options.Save != nil {
		if err := p.options.Save(ctx, rl.arn, rl.memory); err != nil {
			return fmt.Errorf("store what is remembered of rule %s: %w", rl.arn, err)
		}
	}
	p.changed++
	turn := func(ctx context.Context) error { return p.turn(ctx, rl) }
	if len(tags) > 0 {
		in := &elb.AddTagsInput{ResourceArns: []string{rl.arn}, Tags: tags}
		if _, err := call(ctx, p.Reconciler, "tag the rule", p.api.AddTags, in, turn); err != nil {
			return err
		}
		for _, t := range tags {
			rl.tags[*t.Key] = *t.Value
		}
	}
	if !due {
		return nil
	}
	if err := p.modify(ctx, rl, desired); err != nil {
		return err
	}
	rl.change = &Change{before, desired}
	return p.readBack(ctx, rl, desired)
}

// turn waits for the next write's turn, and sees to it that the registry
// and the rule are still what was judged.
func (p *pass) turn(ctx context.Context, rl *rule) error {
	if err := p.limit.wait(ctx); err != nil {
		return fmt.Errorf("wait for the turn to write: %w", err)
	}
	if p.options.Epoch != nil {
		epoch, err := p.options.Epoch(ctx)
		if err != nil {
			return fmt.Errorf("read epoch: %w", err)
		}
		if epoch != p.snapshot.Epoch {
			return errOvertaken
		}
	}
	read, actual, err := p.readRule(ctx, rl.arn)
	if err != nil {
		return err
	}
	if !actual.equal(rl.actual) {
		return &stateError{state: Pending, why: "the rule changed while it was its turn"}
	}
	rl.read = read
	return nil
}

// modify changes nothing of the rule but its last action. What is sent is made
// from the rule as it was read just before.
func (p *pass) modify(ctx context.Context, rl *rule, f Forward) (err error) {
	var actions []types.Action
	turn := func(ctx context.Context) error {
		if err := p.turn(ctx, rl); err != nil {
			return err
		}
		actions = withForward(rl.read.Actions, f)
		return nil
	}
	if aws.ToBool(rl.read.IsDefault) {
		_, err = call(ctx, p.Reconciler, "change the listener", func(ctx context.Context, in *elb.ModifyListenerInput, _ ...func(*elb.Options)) (*elb.ModifyListenerOutput, error) {
			in.DefaultActions = actions
			out, err := p.api.ModifyListener(ctx, in)
			p.tried(rl, err)
			return out, err
		}, &elb.ModifyListenerInput{ListenerArn: aws.String(listener(rl.arn))}, turn)
		return err
	}
	_, err = call(ctx, p.Reconciler, "change the rule", func(ctx context.Context, in *elb.ModifyRuleInput, _ ...func(*elb.Options)) (*elb.ModifyRuleOutput, error) {
		in.Actions = actions
		out, err := p.api.ModifyRule(ctx, in)
		p.tried(rl, err)
		return out, err
	}, &elb.ModifyRuleInput{RuleArn: &rl.arn}, turn)
	return err
}

// tried counts a write that came to err. One that AWS did not take is none: nobody
// has changed it back.
func (p *pass) tried(rl *rule, err error) {
	if !isUnheard(err) {
		rl.memory.tried(p.now)
	}
}

// listener returns the ARN of a rule's listener: without its last part, and of
// another type ("Resource types defined by Elastic Load Balancing V2").
func listener(rule string) string {
	rule = rule[:max(0, strings.LastIndexByte(rule, '/'))]
	return strings.Replace(rule, ":listener-rule/", ":listener/", 1)
}

// firstReadBack is how soon a rule is read again that does not yet show a write;
// each time after, twice as late.
const firstReadBack = 50 * time.Millisecond

// readBack returns nil once the rule reads as written.
func (p *pass) readBack(ctx context.Context, rl *rule, want Forward) error {
	end := p.Reconciler.now().Add(p.config.CallTimeout)
	for pause := firstReadBack; ; pause *= 2 {
		read, actual, err := p.readRule(ctx, rl.arn)
		if err != nil {
			return err
		}
		rl.read, rl.actual, rl.current = read, actual, rl.resting.emptied(actual)
		if actual.equal(want) {
			return nil
		}
		if p.Reconciler.now().Add(pause).After(end) {
			return &stateError{state: Pending, why: "the rule was written, but does not read so yet"}
		}
		if err := sleep(ctx, pause); err != nil {
			return judge(ctx, "read back the rule", err)
		}
	}
}

// release takes the claim from a rule that is at rest.
func (p *pass) release(ctx context.Context, rl *rule) error {
	if p.options.DryRun {
		return nil
	}
	if rl.tagged() {
		if p.halted != nil {
			return p.pending()
		}
		in := &elb.RemoveTagsInput{ResourceArns: []string{rl.arn}, TagKeys: []string{clusterTag, groupTag, restingTag}}
		turn := func(ctx context.Context) error { return p.turn(ctx, rl) }
		if _, err := call(ctx, p.Reconciler, "untag the rule", p.api.RemoveTags, in, turn); err != nil {
			return err
		}
	}
	rl.memory.release()
	return nil
}
