package localalb

import (
	"context"
	"errors"
	"net/http"
	"sync"
)

// checkerAgent is the User-Agent of health checks.
const checkerAgent = "ELB-HealthChecker/2.0"

// checker runs the health checks of one target group.
type checker struct {
	HealthCheck
	lb    *LoadBalancer
	group string
	codes matchCodes
}

// start makes t initial and checks it from now on, until the function returned
// is called. Mu guards t; the caller holds it here and when it stops.
func (c checker) start(mu *sync.Mutex, t *tally, target string, probe func(context.Context) string) context.CancelFunc {
	*t = tally{state: StateInitial, reason: healthRegistering}
	ctx, stop := context.WithCancel(c.lb.ctx)
	note := func(failure string) {
		mu.Lock()
		if ctx.Err() != nil {
			mu.Unlock()
			return
		}
		from := t.state
		t.note(failure, c.HealthCheck)
		change := HealthChange{Group: c.group, Target: target, From: from, To: t.state, Reason: t.reason}
		mu.Unlock()
		if change.From != change.To && c.lb.cfg.OnHealth != nil {
			c.lb.cfg.OnHealth(change)
		}
	}
	c.lb.checks.Go(func() { watch(ctx, c.HealthCheck, probe, note) })
	return stop
}

// probeHTTP makes one check, on a connection of its own. It returns the reason
// code of a failure or "".
func (c checker) probeHTTP(ctx context.Context, addr string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+c.Path, http.NoBody)
	if err != nil {
		return healthFailed
	}
	req.Header.Set("User-Agent", checkerAgent)
	req.Close = true
	alone := &http.Transport{DisableKeepAlives: true}
	res, err := alone.RoundTrip(req)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return healthTimeout
	case err != nil:
		return healthFailed
	}
	_ = res.Body.Close() // the status is all that counts
	return c.verdict(res.StatusCode)
}

// verdict returns the reason code for an answer of that status.
func (c checker) verdict(status int) string {
	if c.codes.has(status) {
		return ""
	}
	return healthMismatch
}
