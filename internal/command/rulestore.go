package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/detourhq/detour/internal/rules"
	"github.com/detourhq/detour/pkg/cluster"
)

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

// settle stores what a pass leaves, forgets rules that it does, and tells the
// events of those whose memory was stored: of two passes at once one alone stores
// it, and that the other one does not is no error.
func (s *ruleStore) settle(ctx context.Context, report rules.Report) error {
	events := make(map[string]rules.RuleState)
	for _, state := range report.Rules {
		events[state.ARN] = state
	}
	settled := func(rule string, err error) error {
		if errors.Is(err, cluster.ErrConflict) {
			return nil
		}
		if state := events[rule]; err == nil && state.Event != "" {
			return s.tell(ctx, state)
		}
		return err
	}
	var err error
	for rule, one := range report.Memory {
		err = errors.Join(err, settled(rule, s.save(ctx, rule, one)))
	}
	for name := range s.bodies {
		rule := strings.TrimPrefix(name, cluster.RulePrefix)
		if _, kept := report.Memory[rule]; !kept && s.bodies[name] != "" {
			err = errors.Join(err, settled(rule, s.swap(ctx, name, "")))
		}
	}
	return err
}

// tell adds the event of one rule to those of the registry.
func (s *ruleStore) tell(ctx context.Context, state rules.RuleState) error {
	by := "operator"
	if s.lease != nil {
		by = "sweep"
	}
	return s.registry.Note(ctx, s.lease, state.Event, cluster.RulePrefix+state.ARN, by, state.Why)
}
