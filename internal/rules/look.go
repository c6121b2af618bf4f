package rules

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Found is a rule as AWS shows it.
type Found struct {
	Forward Forward // its last action; zero where State says why there is none
	Default bool    // whether it is its listener's default rule
	Claimed bool    // whether it bears the tags of a rule that was moved

	State State  // [Foreign], [Refused] or [Denied] where Detour cannot change it; empty where it may
	Why   string // for people
}

// Look reads rules and judges whether Detour may change them; it writes nothing.
// The error wraps [ErrUnreachable] if AWS did not answer.
func (r *Reconciler) Look(ctx context.Context, arns []string) (map[string]Found, error) {
	all, err := r.read(ctx, arns)
	if err != nil {
		return nil, err
	}
	found := make(map[string]Found, len(all))
	for arn, one := range all {
		rl, err := newRule(arn, one, RuleMemory{})
		if err == nil {
			err = rl.owned(r.config)
		}
		f := Found{Forward: rl.actual, Default: aws.ToBool(rl.read.IsDefault), Claimed: rl.tagged()}
		var told *stateError
		if errors.As(err, &told) {
			f.State, f.Why = told.state, told.why
		}
		found[arn] = f
	}
	return found, nil
}
