package main

import (
	"context"
	"errors"
	"time"

	"github.com/detourhq/detour/internal/config"
	"github.com/detourhq/detour/pkg/cluster"
)

// newSource returns where the nodes come from, and where requests can be held:
// nowhere without a registry.
func newSource(c config.Redirect, wall func() time.Time) (source, places, error) {
	static, err := cluster.Static(c.StaticNodes, wall())
	if err != nil {
		return nil, nil, err
	}
	if c.Mode == config.StaticMode {
		return fixed{static}, nil, nil
	}
	if len(static.Nodes) == 0 {
		static = nil
	}
	registry, err := c.Open()
	if err != nil {
		return nil, nil, err
	}
	return cluster.NewCache(registry, cluster.CacheConfig{
		Budget: c.Timeout, Freshness: c.Freshness, PulseEvery: c.PulseEvery,
		StaleIfError: c.StaleIfError, Static: static,
	}, wall), registry, nil
}

// fixed is a source that never changes.
type fixed struct{ snapshot *cluster.Snapshot }

func (f fixed) Snapshot(context.Context) (*cluster.Snapshot, cluster.Origin, error) {
	return f.snapshot, cluster.FromStatic, nil
}

func (fixed) Count(cluster.Millis, ...string) {}

// faulty is the source of a function whose configuration is wrong.
type faulty struct{}

var errFaulty = errors.New("configuration is faulty: its faults were logged at the start")

func (faulty) Snapshot(context.Context) (*cluster.Snapshot, cluster.Origin, error) {
	return nil, "", errFaulty
}

func (faulty) Count(cluster.Millis, ...string) {}
