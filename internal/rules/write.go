package rules

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// write moves the weights of next, and no others, unless the rule is so already.
func (p *pass) write(ctx context.Context, rl *rule, next map[string]string) error {
	due := !rl.resting.isMoved(rl.actual, keys(next), next)
	tags, err := p.missingTags(rl, next)
	if err != nil {
		return err
	}
	if !due && len(tags) == 0 {
		return nil
	}
	desired := rl.actual
	if due {
		if desired, err = p.desired(ctx, rl, next); err != nil {
			return err
		}
	}
	switch {
	case due && rl.memory.exhausted(desired, p.now):
		return rl.givenUp()
	case p.options.DryRun && !due:
		return nil
	case p.options.DryRun:
		rl.change = &Change{rl.actual, desired}
		return &stateError{state: Pending, why: "dry run: nothing was written"}
	}
	if err := p.mayWrite(ctx, rl); err != nil {
		return err
	}
	return p.carryOut(ctx, rl, desired, tags, due)
}

// givenUp is the state of a rule that was written as often as it may be.
func (rl *rule) givenUp() error {
	if was := rl.memory.State; was == Refused || was == Denied {
		return &stateError{state: was, why: rl.memory.Why}
	}
	return &stateError{state: Contested, why: "somebody changes the rule back each time it is written"}
}

func keys(m map[string]string) map[string]bool {
	set := make(map[string]bool)
	for k := range m {
		set[k] = true
	}
	return set
}

// desired returns what the rule is to be. ALB demands group stickiness where a
// target group of the action has target stickiness on.
func (p *pass) desired(ctx context.Context, rl *rule, next map[string]string) (Forward, error) {
	f := rl.resting.moved(next, 0)
	if len(next) == 0 {
		return f, nil
	}
	if len(f.Weights) > maxTargetGroups {
		return Forward{}, &stateError{state: Refused, why: "the rule has five target groups already, and AWS allows no sixth"}
	}
	for _, w := range f.Weights {
		on, known := p.stick[w.TargetGroup]
		if !known {
			if p.halted != nil {
				return Forward{}, p.pending()
			}
			var err error
			if on, err = p.sticky(ctx, w.TargetGroup); err != nil {
				return Forward{}, err
			}
			p.stick[w.TargetGroup] = on
		}
		if on {
			f.Sticky = leastSticky
		}
	}
	return f, nil
}

// missingTags returns the tags that a rule with the weights of next moved has yet
// to get.
func (p *pass) missingTags(rl *rule, next map[string]string) ([]types.Tag, error) {
	if len(next) == 0 {
		return nil, nil
	}
	text, err := encode(rl.resting)
	if err != nil {
		return nil, &stateError{state: Refused, why: err.Error()}
	}
	if rl.tags[restingTag] == text && rl.tags[clusterTag] == p.config.Cluster {
		return nil, nil
	}
	var groups []string
	for tg := range next {
		if group := rl.wants.of[tg].group; group != "" {
			groups = append(groups, group)
		}
	}
	slices.Sort(groups)
	return []types.Tag{
		tag(clusterTag, p.config.Cluster),
		tag(groupTag, names(groups)),
		tag(restingTag, text),
	}, nil
}

func tag(key, value string) types.Tag { return types.Tag{Key: &key, Value: &value} }

// mayWrite returns nil if the rule may be changed now.
func (p *pass) mayWrite(ctx context.Context, rl *rule) error {
	switch {
	case p.halted != nil:
		return p.pending()
	case p.options.MaxRules > 0 && p.changed >= p.options.MaxRules:
		return &stateError{state: Pending, why: leftToSweep}
	case p.config.Busy == nil:
		return nil
	}
	for _, g := range rl.wants.groups {
		if p.unheard != nil && len(g.Sources) > 0 {
			return &stateError{state: Pending, why: p.unheard.Error()}
		}
		why, err := p.config.Busy(ctx, g, rl.arn)
		if err != nil {
			return p.unsure(ctx, err)
		}
		if why != "" {
			return &stateError{state: Foreign, why: why, passes: true}
		}
	}
	return nil
}

// unsure is the state of a rule of which nobody can tell whether something else is
// about to change it. Where AWS did not answer, it is not asked again in this pass,
// which goes on with the rules of groups without sources.
func (p *pass) unsure(ctx context.Context, err error) error {
	err = judge(ctx, "ask who else changes the rule", err)
	if !errors.Is(err, ErrUnreachable) {
		return err
	}
	p.unheard = err
	return &stateError{state: Pending, why: err.Error()}
}
