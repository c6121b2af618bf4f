package localalb

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Invoker runs a function synchronously. It gets the event and returns the
// function's answer, both JSON. Any error, whether the function failed,
// panicked or timed out, is answered 502, unless it is one of the errors below.
// The function's own timeout is the Invoker's business: a client that leaves
// does not end ctx, only the time limit of a health check does.
type Invoker interface {
	Invoke(ctx context.Context, payload []byte) ([]byte, error)
}

// Errors of an Invoker that ALB tells apart.
var (
	ErrThrottled         = errors.New("localalb: function throttled")     // 502 LambdaThrottling
	ErrConnectionTimeout = errors.New("localalb: Lambda not reached")     // 504 LambdaConnectionTimeout
	ErrAccessDenied      = errors.New("localalb: no permission to call")  // 502 LambdaAccessDenied, status assumed
	ErrFunctionNotFound  = errors.New("localalb: function not found")     // 502 LambdaResourceNotFound, status assumed
	errPanic             = errors.New("localalb: function call panicked") // 502 LambdaUnhandled
)

// LambdaGroup configures a target group with a function as its only target.
type LambdaGroup struct {
	// Function is the target; nil means that none is registered: 503.
	Function Invoker

	// MultiValueHeaders is lambda.multi_value_headers.enabled.
	MultiValueHeaders bool

	// Health turns health checks on. Their result changes only what Health
	// reports: a single unhealthy target still gets all requests.
	Health *HealthCheck

	// ARN is the target group's ARN in events; empty means a made-up one.
	ARN string
}

// AddLambdaGroup adds a target group with a function. The error reports an
// invalid g or wraps ErrTargetGroupExists.
func (lb *LoadBalancer) AddLambdaGroup(name string, g LambdaGroup) error {
	l := &lambdaGroup{LambdaGroup: g, lb: lb}
	l.ARN = or(g.ARN, madeUpARN(name))
	l.tally = tally{state: StateUnused, reason: healthNotInUse}
	if g.Health != nil {
		check, codes, err := g.Health.withDefaults(HealthCheck{
			Interval: 35 * time.Second, Timeout: 30 * time.Second, HealthyThreshold: 5, UnhealthyThreshold: 5,
		})
		if err != nil {
			return fmt.Errorf("add target group %q: %w", name, err)
		}
		l.checker = checker{HealthCheck: check, lb: lb, group: name, codes: codes}
	}
	return lb.add(name, l)
}

func madeUpARN(name string) string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, name) // a hash never fails
	return fmt.Sprintf("arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/%s/%016x", name, h.Sum64())
}

// lambdaGroup is a target group with a function.
type lambdaGroup struct {
	LambdaGroup
	lb      *LoadBalancer
	checker checker // if Health is set

	mu sync.Mutex // guards the following
	tally
	stop context.CancelFunc // of the health checks, nil if there are none
}

// serve invokes the function and answers what it says. The invocation goes on
// when the client leaves.
func (g *lambdaGroup) serve(x *exchange) {
	if g.Function == nil {
		x.fail(http.StatusServiceUnavailable, "", "no registered target")
		return
	}
	if x.refusedUpgrade() {
		x.fail(http.StatusBadRequest, ReasonWebsocketUnsupported, "upgrade to "+x.r.Header.Get("Upgrade"))
		return
	}
	body, ok := x.readBody()
	if !ok {
		return
	}
	event, err := x.event(g.ARN, g.MultiValueHeaders, body)
	if err != nil {
		x.fail(x.lb.cfg.NonUTF8Status, ReasonBadRequest, err.Error())
		return
	}
	payload, err := g.invoke(context.WithoutCancel(x.r.Context()), event)
	switch {
	case x.left():
	case err != nil:
		status, reason := invokeFailure(err)
		x.fail(status, reason, err.Error())
	default:
		x.answer(payload, g.MultiValueHeaders)
	}
}

// refusedUpgrade reports whether the client asks for a protocol that ALB does
// not ignore in front of a function.
func (x *exchange) refusedUpgrade() bool {
	upgrade := x.r.Header.Values("Upgrade")
	return len(upgrade) > 0 &&
		(x.lb.cfg.RefuseAnyUpgrade || httpguts.HeaderValuesContainsToken(upgrade, "websocket"))
}

// readBody returns the whole request body. If it is too large or unreadable,
// it answers itself and ok is false.
func (x *exchange) readBody() (body []byte, ok bool) {
	limit := x.lb.cfg.MaxLambdaBody
	if x.r.ContentLength <= limit {
		var err error
		if body, err = io.ReadAll(io.LimitReader(x.r.Body, limit+1)); err != nil {
			if !x.left() {
				x.fail(http.StatusBadRequest, "", "read body: "+err.Error())
			}
			return nil, false
		}
		if int64(len(body)) <= limit {
			return body, true
		}
	}
	x.fail(http.StatusRequestEntityTooLarge, ReasonRequestTooLarge, fmt.Sprintf("request body over %d bytes", limit))
	return nil, false
}

// invoke calls the function and turns a panic of the Invoker into an error.
func (g *lambdaGroup) invoke(ctx context.Context, event []byte) (payload []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	return g.Function.Invoke(ctx, event)
}

// invokeFailure returns status and reason for an error of the Invoker.
func invokeFailure(err error) (status int, reason string) {
	switch {
	case errors.Is(err, ErrThrottled):
		return http.StatusBadGateway, ReasonThrottling
	case errors.Is(err, ErrConnectionTimeout):
		return http.StatusGatewayTimeout, ReasonConnectionTimeout
	case errors.Is(err, ErrAccessDenied):
		return http.StatusBadGateway, ReasonAccessDenied
	case errors.Is(err, ErrFunctionNotFound):
		return http.StatusBadGateway, ReasonResourceNotFound
	}
	return http.StatusBadGateway, ReasonUnhandled
}
