package localalb

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// lambdaTarget names the only target of a Lambda target group in TargetHealth.
const lambdaTarget = "lambda"

func (g *lambdaGroup) use(used bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if used != (g.state == StateUnused) {
		return // it is so already
	}
	switch {
	case !used:
		g.tally = tally{state: StateUnused, reason: healthNotInUse}
		if g.stop != nil {
			g.stop()
			g.stop = nil
		}
	case g.Health == nil:
		g.tally = tally{state: StateUnavailable, reason: healthDisabled}
	case g.Function != nil:
		g.stop = g.checker.start(&g.mu, &g.tally, lambdaTarget, g.probe)
	}
}

func (g *lambdaGroup) health() []TargetHealth {
	if g.Function == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return []TargetHealth{{Target: lambdaTarget, State: g.state, Reason: g.reason}}
}

func (g *lambdaGroup) close() {}

// probe invokes the function with a health check event. It returns the reason
// code of a failure or "".
func (g *lambdaGroup) probe(ctx context.Context) string {
	event, err := healthEvent(g.ARN, g.MultiValueHeaders, g.checker.Path)
	if err != nil {
		return healthFailed
	}
	payload, err := g.invoke(ctx, event)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return healthTimeout
	case err != nil:
		return healthFailed
	}
	a, err := parseAnswer(payload, g.MultiValueHeaders)
	if err != nil {
		return healthFailed
	}
	return g.checker.verdict(a.status)
}

// healthEvent returns the event of a health check (user guide, "Lambda
// functions as targets"). A query in the path becomes query parameters, and in
// multi-value mode both fields take that form; AWS documents neither.
func healthEvent(arn string, multi bool, uri string) ([]byte, error) {
	path, query, _ := splitTarget(uri)
	e := event{Method: http.MethodGet, Path: path}
	e.Context.ELB.TargetGroupARN = arn
	e.setQuery(query, multi)
	e.setHeaders(map[string][]string{"user-agent": {checkerAgent}}, multi)
	b, err := e.encode()
	if err != nil {
		return nil, fmt.Errorf("encode health check: %w", err)
	}
	return b, nil
}
