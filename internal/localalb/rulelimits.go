package localalb

import (
	"errors"
	"fmt"
)

// compileRule checks r against the limits of ALB. PerCondition is the most
// values that a condition other than source-ip may have.
func compileRule(r Rule, perCondition int) (compiled, error) {
	if r.Action == nil {
		return compiled{}, errors.New("no action")
	}
	if err := r.Action.check(); err != nil {
		return compiled{}, err
	}
	if err := r.checkPlace(); err != nil {
		return compiled{}, err
	}
	c := compiled{Rule: r.clone()}
	wildcards, values, seen := 0, 0, map[string]bool{}
	for _, cond := range r.Conditions {
		m, n, err := cond.compile()
		if err != nil {
			return compiled{}, fmt.Errorf("condition %s: %w", cond.field, err)
		}
		if once := cond.field != fieldHeader && cond.field != fieldQuery; once && seen[cond.field] {
			return compiled{}, fmt.Errorf("condition %s: only one per rule", cond.field)
		}
		seen[cond.field] = true
		if limit := cond.limit(perCondition); cond.count() > limit {
			return compiled{}, fmt.Errorf("condition %s: %d values, more than %d", cond.field, cond.count(), limit)
		}
		wildcards += n
		values += cond.count()
		c.matchers = append(c.matchers, m)
	}
	if values > maxValues {
		return compiled{}, fmt.Errorf("a rule can only have '%d' condition values, not %d", maxValues, values)
	}
	if wildcards > maxWildcards {
		return compiled{}, fmt.Errorf("a rule can only have '%d' wildcards, not %d", maxWildcards, wildcards)
	}
	return c, nil
}

// limit returns how many values c may have.
func (c Condition) limit(perCondition int) int {
	if c.field == fieldSource {
		return maxValues
	}
	return perCondition
}

// checkPlace checks name, priority and the number of conditions together.
func (r Rule) checkPlace() error {
	switch {
	case r.Name == "":
		return errors.New("no name")
	case r.Name == DefaultRule && (r.Priority != 0 || len(r.Conditions) != 0):
		return errors.New("the default rule has no priority and no conditions")
	case r.Name == DefaultRule:
		return nil
	case r.Priority < 1 || r.Priority > maxPriority:
		return fmt.Errorf("priority %d is not in 1 to %d", r.Priority, maxPriority)
	case len(r.Conditions) == 0:
		return errors.New("no condition")
	}
	return nil
}
