package main

import (
	"context"
	"fmt"
	"time"

	"github.com/detourhq/detour/internal/awsapi"
	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/internal/config"
	"github.com/detourhq/detour/internal/doctor"
	"github.com/detourhq/detour/internal/rules"
	"github.com/detourhq/detour/internal/sweep"
	"github.com/detourhq/detour/pkg/cluster"
)

// settings reads the environment and lays the flags over it.
func (a *app) settings() (config.Heartbeat, error) {
	environment := make(map[string]string, len(a.environment)+2)
	for k, v := range a.environment {
		environment[k] = v
	}
	if a.redis != "" {
		environment["DETOUR_REDIS_URL"] = a.redis
	}
	if a.cluster != "" {
		environment["DETOUR_CLUSTER"] = a.cluster
	}
	c, err := config.ReadHeartbeat(environment)
	c.Credentials = credentialChain()
	if err != nil {
		return c, fmt.Errorf("%w: %w", errUsage, err)
	}
	if c.URL == "" {
		return c, fmt.Errorf("%w: no registry is named: give --redis redis://HOST:PORT, or set DETOUR_REDIS_URL", errUsage)
	}
	return c, nil
}

// runner returns who carries out c on the registry. The caller closes the registry.
func (a *app) runner(ctx context.Context, c command.Command) (r *command.Runner, err error) {
	settings, err := a.settings()
	if err != nil {
		return nil, err
	}
	registry, err := settings.Open()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = registry.Close()
		}
	}()
	r = &command.Runner{
		Cluster: settings.Cluster, Registry: registry, Redirect: settings.Redirector(settings.Liveness), TargetGroup: settings.TargetGroup, Wall: time.Now,
		RuleSettle: settings.RuleSettle,
		Sweeper:    sweep.New(registry, command.SweepConfig(settings), nil, time.Now, a.logger()),
	}
	switch {
	case c.Verb == "wait": // it can do without
		r.Rules, _ = a.reconciler(ctx, settings)
	case c.Verb == "rules", c.Force: // a pause alone leaves them to the next sweep
		r.Rules, err = a.reconciler(ctx, settings)
	case c.Verb == "doctor":
		r.Doctor, err = a.doctor(ctx, settings, registry)
	}
	return r, err
}

// reconciler returns what moves rules, nil where no Region is set.
func (a *app) reconciler(ctx context.Context, c config.Heartbeat) (*rules.Reconciler, error) {
	settings, ok, err := awsapi.Load(ctx)
	if err != nil || !ok {
		return nil, err
	}
	return awsapi.Rules(settings, command.RulesConfig(c), time.Now, a.logger()), nil
}

// doctor returns who examines the set-up, without AWS where no Region is set.
func (a *app) doctor(ctx context.Context, c config.Heartbeat, r *cluster.Registry) (*doctor.Doctor, error) {
	settings, ok, err := awsapi.Load(ctx)
	if err != nil {
		return nil, err
	}
	var outside *doctor.AWS
	if ok {
		outside = awsapi.Doctor(settings, awsapi.Rules(settings, command.RulesConfig(c), time.Now, a.logger()))
	}
	return doctor.New(r, command.DoctorConfig(c), outside, time.Now), nil
}
