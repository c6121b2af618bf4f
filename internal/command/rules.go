package command

import (
	"context"
	"errors"
	"time"

	"github.com/detourhq/detour/internal/rules"
	"github.com/detourhq/detour/pkg/cluster"
)

// ErrNoAWS reports that rules are out of reach: there is no Region to call.
var ErrNoAWS = errors.New("no AWS Region is set: rules are moved by the heartbeat function, or with AWS_REGION and credentials")

// RuleOptions are what an operator may ask of a pass over the rules.
type RuleOptions struct {
	DryRun  bool     `json:"dry_run,omitempty"`
	Adopt   bool     `json:"adopt,omitempty"`
	Restore bool     `json:"restore,omitempty"`
	Force   bool     `json:"force,omitempty"`
	Only    []string `json:"only,omitempty"` // ARNs; empty means all that are known
}

// Rules says how each rule stands.
type Rules struct {
	Rules   []rules.RuleState `json:"rules"`
	Warning string            `json:"warning,omitempty"` // why not all could be done
}

func (r *Runner) reconcile(ctx context.Context, c Command) (any, error) {
	var o RuleOptions
	if c.Rules != nil {
		o = *c.Rules
	}
	ctx, cancel := leaving(ctx, 2*settleTime)
	defer cancel()
	report, err := r.Reconcile(ctx, nil, nil, rules.Options{DryRun: o.DryRun, Adopt: o.Adopt, Restore: o.Restore, Force: o.Force, Only: o.Only})
	result := &Rules{Rules: append([]rules.RuleState{}, report.Rules...)}
	switch {
	case errors.Is(err, rules.ErrUnreachable):
		result.Warning = err.Error()
	case errors.Is(err, rules.ErrNoTime), err != nil && ctx.Err() != nil:
		result.Warning = "there was no time for all rules: the next sweep goes on, or ask again"
	case err != nil:
		return nil, err
	}
	return result, nil
}

// leaving ends ctx that much earlier, if it has an end.
func leaving(ctx context.Context, rest time.Duration) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end.Add(-rest))
}

// Reconcile makes the listener rules what s wants, as long as the registry is not
// newer, and stores what is remembered of them, under l if it is a sweep's. A nil s
// is read now. The error is [ErrNoAWS], that of [rules.Reconciler.Reconcile], or the
// registry's; the report counts all the same.
func (r *Runner) Reconcile(ctx context.Context, s *cluster.Snapshot, l *cluster.Lease, o rules.Options) (rules.Report, error) {
	if r.Rules == nil {
		return rules.Report{}, ErrNoAWS
	}
	var err error
	if s == nil {
		if s, err = r.snapshot(ctx); err != nil {
			return rules.Report{}, err
		}
	}
	store, err := r.ruleStore(ctx, l)
	if err != nil {
		return rules.Report{}, err
	}
	o.Save = store.save
	o.Epoch = func(ctx context.Context) (int64, error) { return r.Registry.Epoch(ctx, cluster.Counts{}) }
	now, _ := s.Now(r.Wall())
	report, err := r.Rules.Reconcile(ctx, s, now, store.memory, o)
	if o.DryRun {
		return report, err
	}
	if errors.Is(err, cluster.ErrConflict) { // another pass is at the same rules, and the next one sees to what this one leaves
		err = nil
	}
	settling, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	return report, errors.Join(err, store.settle(settling, report))
}

// settleTime is what a pass that ran out of time has to store what it did.
const settleTime = time.Second

// RuleAnswer says how a rule of a group that was paused or resumed stands.
type RuleAnswer struct {
	ARN   string      `json:"arn"`
	State rules.State `json:"state"`
	Why   string      `json:"why,omitempty"`
}

const (
	inlineRules = 3               // what a pause or resume moves at once
	inlineTime  = 5 * time.Second // the rest is the sweep's
)

// follow moves the rules of the groups of nodes after a pause or resume, as far as
// that goes quickly; what it leaves is pending.
func (r *Runner) follow(ctx context.Context, s *cluster.Snapshot, target cluster.Target, force bool) []RuleAnswer {
	var only []string
	for id, g := range s.Groups {
		if target.Kind == cluster.AllKind || target == cluster.GroupTarget(id) {
			only = append(only, g.MovedRules()...)
		}
	}
	if len(only) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, inlineTime)
	defer cancel()
	report, _ := r.Reconcile(limited, s, nil, rules.Options{MaxRules: inlineRules, Only: only, Force: force}) // what is not told is pending
	states := make(map[string]rules.RuleState)
	for _, state := range report.Rules {
		states[state.ARN] = state
	}
	answers := make([]RuleAnswer, 0, len(only))
	for _, arn := range only {
		a := RuleAnswer{ARN: arn, State: rules.Pending}
		if known, ok := states[arn]; ok {
			a.State, a.Why = known.State, known.Why
		}
		answers = append(answers, a)
	}
	return answers
}
