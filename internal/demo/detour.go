package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/detourhq/detour/internal/localalb"
	"github.com/detourhq/detour/internal/locallambda"
	"github.com/detourhq/detour/internal/traffic"
	"github.com/detourhq/detour/pkg/cluster"
)

const (
	functionGroup = "detour" // target group of the redirect function
	functionARN   = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/detour/73e2d6bc24d8a067"

	functionCopies  = 4
	functionTimeout = 10 * time.Second

	// registryBudget is what one operation on the registry may take. The machine
	// may be busy with all the rest of the demo.
	registryBudget = 2 * time.Second
)

// startDetour opens the registry, has the nodes join it and starts the redirect
// function.
func (w *world) startDetour(ctx context.Context) error {
	name := clusterName()
	address, err := w.openRegistry(ctx, w.config.RedisURL, name)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if err := w.recordGroup(ctx, g); err != nil {
			return err
		}
	}
	for _, n := range w.nodes {
		w.atEnd(n.Leave)
		if err := n.Join(ctx, w.registry); err != nil {
			return err
		}
	}
	return w.startFunction(ctx, address, name)
}

// recordGroup tells the redirect function which requests mean group.
func (w *world) recordGroup(ctx context.Context, group string) error {
	_, err := w.registry.ChangeGroup(ctx, group, func(g *cluster.Group) error {
		g.Paths = []string{prefix(group)}
		g.DetourTargetGroup = functionARN
		return nil
	})
	if err != nil {
		return fmt.Errorf("record group %s: %w", group, err)
	}
	return nil
}

// startFunction runs the redirect function and makes it a target group.
func (w *world) startFunction(ctx context.Context, registry, name string) error {
	binary, err := w.functionBinary(ctx)
	if err != nil {
		return err
	}
	function, err := locallambda.New(locallambda.Config{
		Binary: binary, Name: "redirect", Copies: functionCopies, WaitForCopy: true, Timeout: functionTimeout,
		Env: map[string]string{
			"DETOUR_REDIS_URL":     registry,
			"DETOUR_CLUSTER":       name,
			"DETOUR_REDIS_TIMEOUT": registryBudget.String(),
			"DETOUR_PULSE_EVERY":   traffic.PulseEvery.String(),
			"DETOUR_FADE_IN":       (2 * time.Second).String(),
		},
	})
	if err != nil {
		return err
	}
	w.atEnd(func(context.Context) error { function.Close(); return nil })
	return w.balancer.AddLambdaGroup(functionGroup, localalb.LambdaGroup{
		Function: function, MultiValueHeaders: true, ARN: functionARN,
	})
}

// functionBinary returns the path of the redirect function, built if none was
// given.
func (w *world) functionBinary(ctx context.Context) (string, error) {
	if w.config.Binary != "" {
		return w.config.Binary, nil
	}
	dir, err := os.MkdirTemp("", "detour-demo-")
	if err != nil {
		return "", fmt.Errorf("make folder for the redirect function: %w", err)
	}
	w.atEnd(func(context.Context) error { return os.RemoveAll(dir) })
	binary := filepath.Join(dir, "redirect")
	w.phase("building function")
	defer w.phase("starting")
	return binary, locallambda.Build(ctx, w.config.ModuleDir, "./functions/redirect", binary)
}
