package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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
	report, err := r.Reconcile(ctx, nil, rules.Options{DryRun: o.DryRun, Adopt: o.Adopt, Restore: o.Restore, Force: o.Force, Only: o.Only})
	if err != nil && !errors.Is(err, rules.ErrUnreachable) {
		return nil, err
	}
	result := &Rules{Rules: append([]rules.RuleState{}, report.Rules...)}
	if err != nil {
		result.Warning = err.Error()
	}
	return result, nil
}

// Reconcile makes the listener rules what the registry wants, and stores what is
// remembered of them, under l if it is a sweep's. The error is [ErrNoAWS], that of
// [rules.Reconciler.Reconcile], or the registry's; the report counts all the same.
func (r *Runner) Reconcile(ctx context.Context, l *cluster.Lease, o rules.Options) (rules.Report, error) {
	if r.Rules == nil {
		return rules.Report{}, ErrNoAWS
	}
	s, err := r.snapshot(ctx)
	if err != nil {
		return rules.Report{}, err
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
	return report, errors.Join(err, store.settle(ctx, report.Memory))
}

// ruleStore keeps what is remembered of rules in the registry, each for itself.
type ruleStore struct {
	registry *cluster.Registry
	lease    *cluster.Lease
	bodies   map[string]string // as they stand in the registry, by name
	memory   rules.Memory
}

func (r *Runner) ruleStore(ctx context.Context, l *cluster.Lease) (*ruleStore, error) {
	bodies, err := r.Registry.RuleWork(ctx)
	if err != nil {
		return nil, err
	}
	s := &ruleStore{registry: r.Registry, lease: l, bodies: bodies, memory: rules.Memory{}}
	for name, body := range bodies {
		var m rules.RuleMemory
		if json.Unmarshal([]byte(body), &m) == nil { // what cannot be read is a loss like any other: tags tell
			s.memory[strings.TrimPrefix(name, cluster.RulePrefix)] = m
		}
	}
	return s, nil
}

func (s *ruleStore) save(ctx context.Context, rule string, m rules.RuleMemory) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode memory of rule %s: %w", rule, err)
	}
	return s.swap(ctx, cluster.RulePrefix+rule, string(body))
}

func (s *ruleStore) swap(ctx context.Context, name, body string) error {
	if s.bodies[name] == body {
		return nil
	}
	if err := s.registry.SwapWork(ctx, s.lease, name, s.bodies[name], body); err != nil {
		return err
	}
	s.bodies[name] = body
	return nil
}

// settle stores what a pass leaves, and forgets rules that it does.
func (s *ruleStore) settle(ctx context.Context, m rules.Memory) error {
	var err error
	for rule, one := range m {
		err = errors.Join(err, s.save(ctx, rule, one))
	}
	for name := range s.bodies {
		if _, kept := m[strings.TrimPrefix(name, cluster.RulePrefix)]; !kept {
			err = errors.Join(err, s.swap(ctx, name, ""))
		}
	}
	return err
}

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
func (r *Runner) follow(ctx context.Context, s *cluster.Snapshot, target cluster.Target) []RuleAnswer {
	var only []string
	for id, g := range s.Groups {
		if target.Kind == cluster.AllKind || target == cluster.GroupTarget(id) {
			only = append(only, g.Rules...)
		}
	}
	if len(only) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, inlineTime)
	defer cancel()
	report, _ := r.Reconcile(limited, nil, rules.Options{MaxRules: inlineRules, Only: only}) // what is not told is pending
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
