package doctor

import (
	"errors"
	"testing"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestTheRegistry(t *testing.T) {
	inspect(t, []row{
		{"a round trip takes 50 ms", func(f *facts) { f.trip = 50 * time.Millisecond }, nil},
		{"a round trip takes longer", func(f *facts) { f.trip = 51 * time.Millisecond }, found("warning round-trip ")},
		{"it is a replica", func(f *facts) { f.server.Role = "slave" }, found("wrong role ")},
		{"its server tells nothing of itself", func(f *facts) { f.server = cluster.Server{} }, nil},
		{"Redis 7.0", func(f *facts) { f.server.Version = "7.0.0" }, nil},
		{"Redis 6.2", func(f *facts) { f.server.Version = "6.2.14" }, found("warning version ")},
		{"Redis 6.0", func(f *facts) { f.server.Version = "6.0.16" }, found("wrong version ")},
		{"Redis 5", func(f *facts) { f.server.Version = "5.9.9" }, found("wrong version ")},
		{"Valkey 10", func(f *facts) { f.server.Version = "10.0" }, nil},
		{"a version that nobody can read", func(f *facts) { f.server.Version = "next" }, nil},
		{"all keys may be evicted", func(f *facts) { f.server.Evicts = "allkeys-lru" }, found("wrong eviction ")},
		{"keys with an end may be evicted", func(f *facts) { f.server.Evicts = "volatile-lru" }, found("note eviction ")},
		{"no TLS", func(f *facts) { f.config.TLS = false }, found("warning tls DETOUR_REDIS_URL")},
		{"no TLS on this machine", func(f *facts) { f.config.TLS, f.config.Local = false, true }, nil},
		{"this clock is 2 s ahead", func(f *facts) { f.snapshot.ReadAt = now.Time().Add(2 * time.Second) }, nil},
		{"this clock is further ahead", func(f *facts) { f.snapshot.ReadAt = now.Time().Add(2001 * time.Millisecond) }, found("note clock ")},
		{"this clock is behind", func(f *facts) { f.snapshot.ReadAt = now.Time().Add(-3 * time.Second) }, found("note clock ")},
		{"an entry that cannot be read", func(f *facts) {
			f.snapshot.Broken = []cluster.Broken{{Key: "pauses", Field: "planet:\x1b", Err: errors.New("no target")}}
		}, found(`wrong records pauses "planet:\x1b"`)},
	})
}

func TestEveryKeyOfABrokenEntryHasARemedy(t *testing.T) {
	for _, key := range []string{"nodes", "reports", "figures", "pulses", "pauses", "groups"} {
		if broken[key] == "" {
			t.Error(key)
		}
	}
}

func TestTiming(t *testing.T) {
	pause := func(target cluster.Target, p cluster.Pause) func(f *facts) {
		p.Mode = cluster.Redirect
		return func(f *facts) { f.snapshot.Pauses[target] = p }
	}
	blue, nobody := cluster.GroupTarget("blue"), cluster.NodeTarget("b9")
	const day, soon = 24 * 3600 * 1000, now + 1
	inspect(t, []row{
		{"nodes pulse once in a timeout", func(f *facts) { f.config.PulseEvery = 15 * time.Second }, found("wrong pulse-timeout DETOUR_PULSE_TIMEOUT")},
		{"nodes pulse a little more often", func(f *facts) { f.config.PulseEvery = 14999 * time.Millisecond }, nil},
		{"pruning ends with a gap between sweeps", func(f *facts) { f.config.PruneAfter = 9999 * time.Millisecond }, found("wrong prune DETOUR_PRUNE_AFTER")},
		{"pruning outlasts a gap", func(f *facts) { f.config.PruneAfter = 10 * time.Second }, nil},
		{"no sweep was made", func(f *facts) { f.notes = cluster.SweepNotes{} }, found("wrong sweep ")},
		{"the last sweep is three minutes ago", func(f *facts) { f.notes.At = now - 180_000 }, nil},
		{"the last sweep is longer ago", func(f *facts) { f.notes.At = now - 180_001 }, found("wrong sweep ")},
		{"sweeps are as rare as that", func(f *facts) { f.notes.At, f.config.SweepEvery = now-180_001, 61*time.Second }, nil},
		{"notes that cannot be read", func(f *facts) { f.notes = cluster.SweepNotes{Unreadable: true} }, found("warning sweep ")},
		{"a pause of a day", pause(blue, cluster.Pause{Since: now - day, Until: soon}), nil},
		{"a longer pause", pause(blue, cluster.Pause{Since: now - day - 1, Until: soon}), found("warning pauses group:blue")},
		{"a pause without an end", pause(blue, cluster.Pause{Since: now}), found("note pauses group:blue")},
		{"a pause that has ended", pause(blue, cluster.Pause{Since: now - day - 1, Until: now}), nil},
		{"a pause of nobody", pause(nobody, cluster.Pause{Since: now, Until: soon}), found("warning pauses node:b9")},
	})
}
