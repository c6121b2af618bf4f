package command

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

// Paused says what a pause did.
type Paused struct {
	Target   string         `json:"target"`
	Mode     cluster.Mode   `json:"mode"`
	Epoch    int64          `json:"epoch"`
	Since    cluster.Millis `json:"since_ms"`
	Until    cluster.Millis `json:"until_ms,omitempty"`
	Deadline cluster.Millis `json:"deadline_ms,omitempty"`
	Nodes    []string       `json:"nodes"`              // ids of the nodes that it covers
	Rules    []RuleAnswer   `json:"rules,omitempty"`    // listener rules that follow
	Warnings []string       `json:"warnings,omitempty"` // for people
}

func (r *Runner) pause(ctx context.Context, c Command) (any, error) {
	target, err := cluster.ParseTarget(c.Target)
	if err != nil {
		return nil, err
	}
	mode, err := cluster.ParseMode(c.Mode)
	if err != nil {
		return nil, err
	}
	if c.DeadlineMS != 0 && mode != cluster.Drain {
		return nil, fmt.Errorf("%w: only a drain has a deadline; a pause in mode %s ends with for", ErrUsage, mode)
	}
	p, err := r.Registry.Pause(ctx, target, cluster.PauseRequest{
		Mode: mode, Reason: c.Reason, By: c.By,
		For: time.Duration(c.ForMS) * time.Millisecond, Deadline: time.Duration(c.DeadlineMS) * time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	result := &Paused{
		Target: target.String(), Mode: mode, Epoch: p.Epoch,
		Since: p.Since, Until: p.Until, Deadline: p.Deadline, Nodes: []string{},
	}
	s, err := r.snapshot(ctx)
	if err != nil {
		result.Warnings = append(result.Warnings, "The pause stands, but what it covers could not be read: "+err.Error())
		return result, nil
	}
	result.Nodes = covered(s, target)
	result.Warnings = r.warnings(s, target, result.Nodes)
	result.Rules = r.follow(ctx, s, target, c.Force)
	if c.Force && r.Rules == nil && len(result.Rules) > 0 {
		result.Warnings = append(result.Warnings, "The rules are not forced: "+ErrNoAWS.Error()+".")
	}
	return result, nil
}

// covered lists the nodes that a pause of target covers, in whole or in part.
func covered(s *cluster.Snapshot, target cluster.Target) []string {
	ids := []string{}
	for i := range s.Nodes {
		if target.Reaches(&s.Nodes[i]) {
			ids = append(ids, s.Nodes[i].ID)
		}
	}
	return ids
}

// warnings are what an operator would want to know; a pause is never refused.
func (r *Runner) warnings(s *cluster.Snapshot, target cluster.Target, nodes []string) []string {
	var w []string
	if len(nodes) == 0 && target.Kind != cluster.AllKind {
		w = append(w, "Nothing called "+target.String()+" is registered now; the pause covers it when it is.")
	}
	table := selection.NewTable(s, s.Time, r.Redirect.Selection)
	for _, service := range servicesOf(s, nodes) {
		q := selection.Query{Service: service, Path: "/"}
		if target.Kind == cluster.ContextKind {
			q.Path = target.Path
		}
		if _, outcome := table.Pick(q, s.Time, rand.New(rand.NewPCG(0, 0))); outcome != selection.Picked {
			w = append(w, "Nobody is left to offer"+ofService(service)+": requests get 503 until a node is resumed or registers.")
		}
	}
	return w
}

func servicesOf(s *cluster.Snapshot, nodes []string) []string {
	var services []string
	seen := make(map[string]bool)
	for _, id := range nodes {
		n, _ := s.Node(id)
		if service := s.Service(n.Group); !seen[service] {
			seen[service] = true
			services = append(services, service)
		}
	}
	return services
}

func ofService(service string) string {
	if service == "" {
		return ""
	}
	return " in service " + service
}

// Resumed says what a resume did.
type Resumed struct {
	Target    string       `json:"target"`
	WasPaused bool         `json:"was_paused"`
	Epoch     int64        `json:"epoch"`
	Rules     []RuleAnswer `json:"rules,omitempty"` // listener rules that follow
	Warnings  []string     `json:"warnings,omitempty"`
}

func (r *Runner) resume(ctx context.Context, c Command) (any, error) {
	target, err := cluster.ParseTarget(c.Target)
	if err != nil {
		return nil, err
	}
	epoch, was, err := r.Registry.Resume(ctx, target, c.By, c.Reason)
	if err != nil {
		return nil, err
	}
	result := &Resumed{Target: target.String(), WasPaused: was, Epoch: epoch}
	s, err := r.snapshot(ctx)
	if err != nil {
		return result, nil
	}
	result.Rules = r.follow(ctx, s, target, false)
	for _, id := range covered(s, target) {
		n, _ := s.Node(id)
		if on, p, still := s.Cover(n, target.Path, s.Time); still {
			result.Warnings = append(result.Warnings, fmt.Sprintf("Node %s is still covered by the pause on %s (%s).", id, on, p.Mode))
		}
	}
	return result, nil
}
