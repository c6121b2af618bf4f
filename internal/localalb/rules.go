package localalb

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// DefaultRule is the name of the rule that is evaluated last. It has no
// conditions and cannot be removed.
const DefaultRule = "default"

// Errors of the rule methods, after the error codes of the API.
var (
	ErrRuleNotFound        = errors.New("localalb: rule not found")
	ErrTargetGroupNotFound = errors.New("localalb: target group not found")
	ErrTargetGroupExists   = errors.New("localalb: target group exists")
	ErrPriorityInUse       = errors.New("localalb: priority in use")
	ErrTooManyRules        = errors.New("localalb: too many rules")
)

// Quotas of the user guide.
const (
	maxRules     = 100
	maxPriority  = 50000
	maxValues    = 5 // per rule, and per source-ip condition
	maxWildcards = 5 // per rule
)

// Rule is a listener rule. Rules are evaluated from the lowest Priority, 1 to
// 50000, until all Conditions of one hold; DefaultRule has neither.
type Rule struct {
	Name       string
	Priority   int
	Conditions []Condition
	Action     Action
}

// compiled is a rule ready to be matched.
type compiled struct {
	Rule
	matchers []matcher
}

// table holds all rules in the order of evaluation, the default rule last. It
// is never changed, only replaced.
type table []compiled

// match returns the rule that applies to x.
func (t table) match(x *exchange) compiled {
	i := slices.IndexFunc(t, func(c compiled) bool {
		return !slices.ContainsFunc(c.matchers, func(m matcher) bool { return !m(x) })
	})
	return t[i]
}

func (t table) find(name string) int {
	return slices.IndexFunc(t, func(c compiled) bool { return c.Name == name })
}

// SetRule adds the rule, or replaces the one of the same name, in one step: a
// request sees all of the old or all of the new. The error names the limit
// that the rule breaks, or wraps ErrPriorityInUse, ErrTooManyRules or
// ErrTargetGroupNotFound; then nothing has changed.
func (lb *LoadBalancer) SetRule(r Rule) error {
	c, err := compileRule(r, lb.cfg.ValuesPerCondition)
	if err != nil {
		return fmt.Errorf("set rule %q: %w", r.Name, err)
	}
	lb.mu.Lock()
	defer lb.mu.Unlock()
	if err := lb.put(c); err != nil {
		return fmt.Errorf("set rule %q: %w", r.Name, err)
	}
	return nil
}

// SetDefault replaces the action of the default rule.
func (lb *LoadBalancer) SetDefault(a Action) error {
	return lb.SetRule(Rule{Name: DefaultRule, Action: a})
}

// SetWeights replaces the action of the named rule, which must forward, by a
// forward to these groups with these weights. Groups of weight 0 get no
// requests but stay in use, and so health-checked. ErrRuleNotFound and the
// errors of SetRule come back.
func (lb *LoadBalancer) SetWeights(name string, weights map[string]int) error {
	lb.mu.Lock()
	defer lb.mu.Unlock()
	t := *lb.rules.Load()
	i := t.find(name)
	if i < 0 {
		return fmt.Errorf("set weights of %q: %w", name, ErrRuleNotFound)
	}
	if _, forwards := t[i].Action.(Forward); !forwards {
		return fmt.Errorf("set weights of %q: the rule does not forward", name)
	}
	c := t[i]
	c.Action = Forward(maps.Clone(weights))
	err := c.Action.check()
	if err == nil {
		err = lb.put(c)
	}
	if err != nil {
		return fmt.Errorf("set weights of %q: %w", name, err)
	}
	return nil
}

// RemoveRule removes the named rule, or returns ErrRuleNotFound.
func (lb *LoadBalancer) RemoveRule(name string) error {
	lb.mu.Lock()
	defer lb.mu.Unlock()
	t := *lb.rules.Load()
	i := t.find(name)
	if i < 0 || name == DefaultRule {
		return fmt.Errorf("remove rule %q: %w", name, ErrRuleNotFound)
	}
	lb.replace(slices.Delete(slices.Clone(t), i, i+1))
	return nil
}

// Rules returns all rules in the order of evaluation, the default rule last.
func (lb *LoadBalancer) Rules() []Rule {
	var rules []Rule
	for _, c := range *lb.rules.Load() {
		rules = append(rules, c.clone())
	}
	return rules
}

// clone returns a copy that shares no map or slice that a caller may change.
func (r Rule) clone() Rule {
	r.Conditions = slices.Clone(r.Conditions)
	if f, ok := r.Action.(Forward); ok {
		r.Action = maps.Clone(f)
	}
	return r
}

// put stores c in the table. The caller holds lb.mu.
func (lb *LoadBalancer) put(c compiled) error {
	for name := range forwardOf(c.Action) {
		if lb.groups[name] == nil {
			return fmt.Errorf("group %q: %w", name, ErrTargetGroupNotFound)
		}
	}
	t := slices.Clone(*lb.rules.Load())
	if i := t.find(c.Name); i >= 0 {
		t = slices.Delete(t, i, i+1)
	}
	switch {
	case len(t) > maxRules:
		return ErrTooManyRules
	case slices.ContainsFunc(t, func(o compiled) bool { return o.Priority == c.Priority }):
		return ErrPriorityInUse
	}
	t = append(t, c)
	slices.SortFunc(t, func(a, b compiled) int { return a.order() - b.order() })
	lb.replace(t)
	return nil
}

// order is the priority, with the default rule behind all others.
func (c compiled) order() int { return or(c.Priority, maxPriority+1) }

// replace publishes t and tells every group whether it is in use. The caller
// holds lb.mu.
func (lb *LoadBalancer) replace(t table) {
	lb.rules.Store(&t)
	used := map[string]bool{}
	for _, c := range t {
		for name := range forwardOf(c.Action) {
			used[name] = true
		}
	}
	for name, g := range lb.groups {
		g.use(used[name])
	}
}

func forwardOf(a Action) Forward {
	f, _ := a.(Forward)
	return f
}
