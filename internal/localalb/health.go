package localalb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// State is the health of a target in the words of DescribeTargetHealth.
type State string

// States of targets. Targets of a group that no rule forwards to are unused; a
// function without health checks is unavailable, which is normal.
const (
	StateInitial     State = "initial"
	StateHealthy     State = "healthy"
	StateUnhealthy   State = "unhealthy"
	StateUnused      State = "unused"
	StateDraining    State = "draining"
	StateUnavailable State = "unavailable"
)

// Reason codes of DescribeTargetHealth.
const (
	healthRegistering = "Elb.RegistrationInProgress"
	healthMismatch    = "Target.ResponseCodeMismatch"
	healthTimeout     = "Target.Timeout"
	healthFailed      = "Target.FailedHealthChecks"
	healthNotInUse    = "Target.NotInUse"
	healthLeaving     = "Target.DeregistrationInProgress"
	healthDisabled    = "Target.HealthCheckDisabled"
)

// TargetHealth is the state of one target. Reason is empty when it is healthy.
type TargetHealth struct {
	Target string // host:port, or "lambda" for a function
	State  State
	Reason string
}

// HealthChange is one step of a target's state.
type HealthChange struct {
	Group, Target string
	From, To      State
	Reason        string
}

// HealthCheck says how targets are checked. Zero fields take the default of
// the kind of group; AWS takes whole seconds, here any duration will do.
type HealthCheck struct {
	Path               string        // with an optional query; default "/"
	Interval           time.Duration // between the starts of two checks; default 30 s, functions 35 s
	Timeout            time.Duration // default 5 s, functions 30 s
	HealthyThreshold   int           // passes in a row until an unhealthy target is healthy; default 5
	UnhealthyThreshold int           // failures in a row until a target is unhealthy; default 2, functions 5
	Matcher            string        // status codes that pass, as "200,202" or "200-299"; default "200"
}

// withDefaults fills h from def. It returns the parsed Matcher.
func (h HealthCheck) withDefaults(def HealthCheck) (HealthCheck, matchCodes, error) {
	h.Path = or(h.Path, "/")
	h.Interval = or(h.Interval, def.Interval)
	h.Timeout = or(h.Timeout, def.Timeout)
	h.HealthyThreshold = or(h.HealthyThreshold, def.HealthyThreshold)
	h.UnhealthyThreshold = or(h.UnhealthyThreshold, def.UnhealthyThreshold)
	codes, err := parseMatcher(or(h.Matcher, "200"))
	switch {
	case err != nil:
		return h, nil, err
	case min(h.Interval, h.Timeout) < 0 || min(h.HealthyThreshold, h.UnhealthyThreshold) < 0:
		return h, nil, errors.New("health check: negative time or threshold")
	case !strings.HasPrefix(h.Path, "/"):
		return h, nil, fmt.Errorf("health check: path %q does not begin with /", h.Path)
	}
	return h, codes, nil
}

// matchCodes are inclusive ranges of status codes.
type matchCodes [][2]int

func parseMatcher(s string) (matchCodes, error) {
	var all matchCodes
	for part := range strings.SplitSeq(s, ",") {
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			to = from
		}
		low, err1 := strconv.Atoi(from)
		high, err2 := strconv.Atoi(to)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("parse matcher %q: %w", s, err)
		}
		if low < 200 || high > 499 || low > high {
			return nil, fmt.Errorf("matcher %q is not within 200-499", s)
		}
		all = append(all, [2]int{low, high})
	}
	return all, nil
}

func (m matchCodes) has(status int) bool {
	for _, r := range m {
		if r[0] <= status && status <= r[1] {
			return true
		}
	}
	return false
}

// tally counts checks in a row and derives the state of a target.
type tally struct {
	state  State
	reason string
	run    int // results in a row that speak against the state
}

// note counts the result of one check: the reason of a failure, or "" for a
// pass. A new target needs one pass to be healthy, and the unhealthy threshold
// of failures to be unhealthy (user guide, "Health checks").
func (t *tally) note(failure string, h HealthCheck) {
	passed := failure == ""
	if passed && t.state == StateHealthy || !passed && t.state == StateUnhealthy {
		t.run, t.reason = 0, failure
		return
	}
	t.run++
	switch {
	case passed && (t.state == StateInitial || t.run >= h.HealthyThreshold):
		*t = tally{state: StateHealthy}
	case !passed && t.run >= h.UnhealthyThreshold:
		*t = tally{state: StateUnhealthy, reason: failure}
	}
}

// watch checks at once and then once per interval until ctx ends. Probe
// returns the reason of a failure or ""; note gets it.
func watch(ctx context.Context, h HealthCheck, probe func(context.Context) string, note func(string)) {
	tick := time.NewTicker(h.Interval)
	defer tick.Stop()
	for {
		limited, cancel := context.WithTimeout(ctx, h.Timeout)
		failure := probe(limited)
		cancel()
		if ctx.Err() != nil {
			return
		}
		note(failure)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
