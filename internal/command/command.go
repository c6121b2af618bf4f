package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/detourhq/detour/internal/doctor"
	"github.com/detourhq/detour/internal/rules"
	"github.com/detourhq/detour/internal/sweep"
	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/redirect"
)

// ErrUsage reports a command that cannot be meant: unknown, or with a field out
// of form.
var ErrUsage = errors.New("usage")

// Command is one verb and what it needs; fields that a verb does not name are
// ignored. Durations are in milliseconds.
type Command struct {
	Verb   string `json:"command"`
	Target string `json:"target,omitempty"` // pause, resume, wait
	Reason string `json:"reason,omitempty"` // pause, resume
	By     string `json:"by,omitempty"`     // pause, resume; the caller's own word

	Mode       string `json:"mode,omitempty"`        // pause; empty means redirect
	ForMS      int64  `json:"for_ms,omitempty"`      // pause; zero means until resumed
	Epoch      int64  `json:"epoch,omitempty"`       // wait; of the pause that is waited for, zero if unknown
	DeadlineMS int64  `json:"deadline_ms,omitempty"` // pause in mode drain; zero means none
	Force      bool   `json:"force,omitempty"`       // pause; rules are moved though nobody is left, or sessions have no way

	URL    string `json:"url,omitempty"`    // explain
	Method string `json:"method,omitempty"` // explain; empty means GET
	Cookie string `json:"cookie,omitempty"` // explain: the request's cookies, NAME=VALUE; NAME=VALUE

	Node   *cluster.Descriptor `json:"node,omitempty"`   // register
	Status cluster.Status      `json:"status,omitempty"` // register; empty means active
	Load   *float64            `json:"load,omitempty"`   // register; nil means no figures

	ID    string          `json:"id,omitempty"`    // leave, group-put, group-rm
	Group json.RawMessage `json:"group,omitempty"` // group-put: the members of [cluster.Group] to change
	Rules *RuleOptions    `json:"rules,omitempty"` // rules; nil is a pass like a sweep's
}

// Runner carries out commands on one cluster. Every field but TargetGroup, RuleSettle,
// Rules and Doctor is required.
type Runner struct {
	Cluster     string
	Registry    *cluster.Registry
	Redirect    redirect.Config
	Sweeper     *sweep.Sweeper
	Rules       *rules.Reconciler // nil where AWS cannot be called
	TargetGroup string            // ARN of the redirect function's target group, for groups that name none
	RuleSettle  time.Duration     // what load balancers take to obey a rule that was read back
	Doctor      *doctor.Doctor    // nil where nobody is to be examined
	Wall        func() time.Time
}

type verb func(r *Runner, ctx context.Context, c Command) (any, error)

var verbs = map[string]verb{
	"pause":      (*Runner).pause,
	"wait":       (*Runner).wait,
	"resume":     (*Runner).resume,
	"status":     (*Runner).status,
	"explain":    (*Runner).explain,
	"register":   (*Runner).register,
	"leave":      (*Runner).leave,
	"group-put":  (*Runner).groupPut,
	"group-list": (*Runner).groupList,
	"group-rm":   (*Runner).groupRemove,
	"sweep":      (*Runner).sweep,
	"rules":      (*Runner).reconcile,
	"doctor":     (*Runner).doctor,
}

// Run carries out c and returns what there is to say of it, one JSON object's
// worth. The error wraps [ErrUsage] or [cluster.ErrInvalid] when c is at fault,
// and else tells what the registry answered.
func (r *Runner) Run(ctx context.Context, c Command) (any, error) {
	run, ok := verbs[c.Verb]
	if !ok {
		known := slices.Sorted(maps.Keys(verbs))
		return nil, fmt.Errorf("%w: command %.40q is none of %s", ErrUsage, c.Verb, strings.Join(known, ", "))
	}
	return run(r, ctx, c)
}

func (r *Runner) sweep(ctx context.Context, _ Command) (any, error) {
	result, err := r.Sweeper.Sweep(ctx)
	if err != nil {
		return nil, err
	}
	return &result, nil
}

// snapshot reads the registry and its time.
func (r *Runner) snapshot(ctx context.Context) (*cluster.Snapshot, error) {
	return r.Registry.Snapshot(ctx, r.Wall)
}
