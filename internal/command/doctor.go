package command

import (
	"context"
	"errors"
	"net/netip"
	"strings"

	"github.com/detourhq/detour/internal/config"
	"github.com/detourhq/detour/internal/doctor"
)

// DoctorConfig returns what is known of the set-up that c is a part of.
func DoctorConfig(c config.Heartbeat) doctor.Config {
	return doctor.Config{
		Cluster: c.Cluster, TLS: strings.HasPrefix(c.URL, "rediss:"), Local: isLocal(c.URL),
		PulseEvery: c.PulseEvery, PulseTimeout: c.PulseTimeout, SweepEvery: c.SweepEvery, PruneAfter: c.PruneAfter,
		AllowedHosts: c.AllowedHosts, Origins: len(c.Origins) > 0, TargetGroup: c.TargetGroup,
	}
}

// isLocal reports whether the first host of a registry's URL is this machine.
func isLocal(url string) bool {
	_, rest, _ := strings.Cut(url, "://")
	rest, _, _ = strings.Cut(rest, "?")
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	host := strings.FieldsFunc(rest, func(c rune) bool { return c == ',' || c == '/' })
	if len(host) == 0 {
		return true // the default
	}
	if a, err := netip.ParseAddrPort(host[0]); err == nil {
		return a.Addr().IsLoopback()
	}
	a, err := netip.ParseAddr(strings.Trim(host[0], "[]"))
	name, _, _ := strings.Cut(host[0], ":")
	return err == nil && a.IsLoopback() || name == "localhost" || name == ""
}

func (r *Runner) doctor(ctx context.Context, _ Command) (any, error) {
	if r.Doctor == nil {
		return nil, errors.New("this program has no doctor")
	}
	report := r.Doctor.Examine(ctx)
	return &report, nil
}
