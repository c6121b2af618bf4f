package doctor

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	slowTrip  = 50 * time.Millisecond // of the 250 ms that a decision has by default
	clockSkew = 2 * time.Second
)

// roundTrip measures this machine's way, which need not be the functions'.
func roundTrip(f *facts, tell teller) {
	if f.trip > slowTrip {
		tell(Warning, "", fmt.Sprintf("a round trip to the registry takes %s from here", f.trip.Round(time.Millisecond)),
			"each redirect takes one: look whether functions and registry are in the same Availability Zones, and how busy the registry is")
	}
}

func role(f *facts, tell teller) {
	if f.server.Role != "" && f.server.Role != "master" {
		tell(Wrong, "", "DETOUR_REDIS_URL leads to a replica: nothing can be written there, and pauses are seen late",
			"name the primary's endpoint, or the cluster's with ?cluster=true")
	}
}

// version wants GETEX (Redis 6.2), and ACL selectors (Redis 7.0) for the roles.
func version(f *facts, tell teller) {
	major, minor, ok := release(f.server.Version)
	switch {
	case !ok || major >= 7:
	case major < 6 || minor < 2:
		tell(Wrong, "", "the registry's server is Redis "+f.server.Version+", older than 6.2: it does not know GETEX", "run Redis 7 or Valkey 7.2, or later")
	default:
		tell(Warning, "", "the registry's server is Redis "+f.server.Version+", older than 7: docs/registry.acl cannot be loaded", "run Redis 7 or Valkey 7.2, or later")
	}
}

func release(version string) (major, minor int, ok bool) {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	major, err := strconv.Atoi(first)
	if err != nil {
		return 0, 0, false
	}
	minor, err = strconv.Atoi(second)
	return major, minor, err == nil
}

func eviction(f *facts, tell teller) {
	policy := f.server.Evicts
	switch {
	case strings.HasPrefix(policy, "allkeys-"):
		tell(Wrong, "", "the registry's server evicts keys when memory is full (maxmemory-policy "+policy+"): nodes, pauses and groups can vanish", "set maxmemory-policy noeviction")
	case strings.HasPrefix(policy, "volatile-"):
		tell(Note, "", "the registry's server may evict counts and the lease of sweeps when memory is full (maxmemory-policy "+policy+")", "set maxmemory-policy noeviction if the server is Detour's alone")
	}
}

func encryption(f *facts, tell teller) {
	if !f.config.TLS && !f.config.Local {
		tell(Warning, "DETOUR_REDIS_URL", "the registry is reached without TLS: who is in between reads the password and can send users anywhere", "use rediss://")
	}
}

// clock is for people: no clock but the registry's decides anything.
func clock(f *facts, tell teller) {
	skew := f.snapshot.ReadAt.Sub(f.snapshot.Time.Time())
	if skew > clockSkew || skew < -clockSkew {
		tell(Note, "", fmt.Sprintf("this machine's clock differs from the registry's by %s", skew.Round(time.Millisecond)),
			"nothing depends on it but times in logs, and above five minutes AWS's signatures: set up NTP")
	}
}

func records(f *facts, tell teller) {
	for _, b := range f.snapshot.Broken {
		tell(Wrong, b.Key+" "+strconv.QuoteToASCII(b.Field), "an entry of the registry cannot be read: "+b.Err.Error(), broken[b.Key])
	}
}

// broken says what to do about an entry of each key.
var broken = map[string]string{
	"nodes":   "restart the node's agent, or remove the entry",
	"reports": "restart the node's agent, or remove the entry",
	"figures": "restart the node's agent, or remove the entry",
	"pulses":  "restart the node's agent, or remove the entry",
	"pauses":  "it counts as a redirect without end: detour resume the target, then pause it again if that is meant",
	"groups":  "write it anew: detour group put",
}
