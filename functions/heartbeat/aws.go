package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/detourhq/detour/internal/awsapi"
	"github.com/detourhq/detour/internal/awsevents"
	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/internal/config"
	"github.com/detourhq/detour/internal/doctor"
	"github.com/detourhq/detour/internal/rules"
	"github.com/detourhq/detour/pkg/cluster"
)

// outside is the part of a sweep that AWS has a say in. What it counts is one
// tick's; only the sweeping goroutine touches it.
type outside struct {
	events *awsevents.Handler
	runner *command.Runner
	most   time.Duration // that one sweep takes of it
	log    *slog.Logger

	unreachable int // calls and rules that AWS did not answer about, or refused
	stuck       int // rules that somebody has to see to, as the last sweep found them
}

// outsideTime is what AWS is given in a sweep: enough to read all rules and take one a
// step further with every call as slow as it may be, and half of the lease.
const outsideTime = 15 * time.Second

// newOutside gives runner its rules and a doctor who sees AWS, and returns nil where there is no AWS to call.
func newOutside(c config.Heartbeat, runner *command.Runner, wall func() time.Time, log *slog.Logger) (*outside, error) {
	settings, ok, err := awsapi.Load(context.Background())
	if err != nil || !ok {
		return nil, err
	}
	runner.Rules = awsapi.Rules(settings, command.RulesConfig(c), wall, log)
	runner.Doctor = doctor.New(runner.Registry, command.DoctorConfig(c), awsapi.Doctor(settings, runner.Rules), wall)
	events := awsevents.New(runner.Registry, awsapi.Events(settings), awsevents.Config{PulseTimeout: c.PulseTimeout}, wall, log)
	return &outside{events: events, runner: runner, most: outsideTime, log: log}, nil
}

// afterSweep takes pending work on and makes the rules follow, under the sweep's
// lease. That AWS does not answer is counted, and no reason for the sweep to fail;
// nor is that there was no time for all: the next sweep goes on.
func (o *outside) afterSweep(ctx context.Context, l cluster.Lease) error {
	limited, cancel := context.WithTimeout(ctx, o.most)
	defer cancel()
	err := o.follow(limited, l)
	if limited.Err() != nil || errors.Is(err, rules.ErrNoTime) {
		o.log.InfoContext(ctx, "not all was done that AWS has a say in, the next sweep goes on", "err", err)
		return nil
	}
	return err
}

// follow goes by one snapshot, unless the work has paused or resumed something.
func (o *outside) follow(ctx context.Context, l cluster.Lease) error {
	s, err := o.runner.Registry.Snapshot(ctx, o.runner.Wall)
	if err != nil {
		return err
	}
	advanced, err := o.events.Advance(ctx, s, l)
	o.unreachable += advanced.Unreachable
	if err != nil {
		return err
	}
	if len(advanced.Paused)+len(advanced.Resumed) > 0 {
		if s, err = o.runner.Registry.Snapshot(ctx, o.runner.Wall); err != nil {
			return err
		}
	}
	report, err := o.runner.Reconcile(ctx, s, &l, rules.Options{})
	o.stuck = 0
	for _, r := range report.Rules {
		if r.Stuck {
			o.stuck++
		}
		if r.State == rules.Denied {
			o.unreachable++
		}
	}
	if errors.Is(err, rules.ErrUnreachable) {
		o.unreachable++
		o.log.WarnContext(ctx, "rules were not all made to follow", "err", err)
		return nil
	}
	return err
}

// hear handles an event of AWS. Its error makes Lambda hand the event in again,
// which does no harm.
func (o *outside) hear(ctx context.Context, events []awsevents.Event) ([]any, error) {
	var answers []any
	for _, e := range events {
		answer, err := o.events.Handle(ctx, e)
		if err != nil {
			return answers, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}
