package command

import (
	"github.com/detourhq/detour/internal/config"
	"github.com/detourhq/detour/internal/rules"
	"github.com/detourhq/detour/internal/sweep"
)

// RulesConfig returns how passes over listener rules are made.
func RulesConfig(c config.Heartbeat) rules.Config {
	return rules.Config{
		Cluster: c.Cluster, TargetGroup: c.TargetGroup, AllowDefaultRule: bool(c.AllowDefaultRule),
		Selection: c.Redirector(c.Liveness).Selection,
	}
}

// SweepConfig returns how sweeps are made.
func SweepConfig(c config.Heartbeat) sweep.Config {
	return sweep.Config{PulseTimeout: c.PulseTimeout, PruneAfter: c.PruneAfter, PruneMax: c.PruneMax, Probe: bool(c.Probe)}
}
