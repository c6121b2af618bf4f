package localalb

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// HTTPGroup configures a target group of HTTP targets.
type HTTPGroup struct {
	Health HealthCheck

	// DeregistrationDelay is how long a deregistered target is shown as
	// draining; 0 means 300 s. It gets no new requests in that time, and those
	// in flight are never cut off.
	DeregistrationDelay time.Duration

	// StickyFor binds each client to a target by a cookie of the load balancer's,
	// AWSALB, for this long after its last request (stickiness.type lb_cookie),
	// unless the target gets unhealthy or is deregistered. 0 means no stickiness.
	StickyFor time.Duration
}

// AddHTTPGroup adds a target group without targets. The error reports an
// invalid g or wraps ErrTargetGroupExists.
func (lb *LoadBalancer) AddHTTPGroup(name string, g HTTPGroup) error {
	check, codes, err := g.Health.withDefaults(HealthCheck{
		Interval: 30 * time.Second, Timeout: 5 * time.Second, HealthyThreshold: 5, UnhealthyThreshold: 2,
	})
	if err != nil {
		return fmt.Errorf("add target group %q: %w", name, err)
	}
	return lb.add(name, &httpGroup{
		lb: lb, name: name, delay: or(g.DeregistrationDelay, 300*time.Second),
		checker:   checker{lb: lb, group: name, HealthCheck: check, codes: codes},
		transport: newTransport(lb.cfg),
		sticky:    newSticky(g.StickyFor, lb.cfg.Now),
	})
}

func (lb *LoadBalancer) add(name string, g group) error {
	lb.mu.Lock()
	defer lb.mu.Unlock()
	if lb.groups[name] != nil {
		return fmt.Errorf("add target group %q: %w", name, ErrTargetGroupExists)
	}
	lb.groups[name] = g
	return nil
}

// httpGroup is a target group of HTTP targets.
type httpGroup struct {
	lb        *LoadBalancer
	name      string
	delay     time.Duration
	checker   checker
	transport *http.Transport
	sticky    *sticky

	mu      sync.Mutex // guards the following
	used    bool
	turn    int // of the round robin
	targets []*target
}

// target is one registered or draining target.
type target struct {
	addr string
	tally
	stop  context.CancelFunc // of its health checks, nil if there are none
	until time.Time          // end of draining
}

func (g *httpGroup) register(addr string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.expire()
	if i := g.find(addr); i >= 0 {
		if g.targets[i].state != StateDraining {
			return
		}
		g.targets = slices.Delete(g.targets, i, i+1)
	}
	t := &target{addr: addr}
	g.targets = append(g.targets, t)
	g.begin(t)
}

func (g *httpGroup) deregister(addr string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := g.find(addr)
	if i < 0 || g.targets[i].state == StateDraining {
		return
	}
	t := g.targets[i]
	t.end()
	t.tally = tally{state: StateDraining, reason: healthLeaving}
	t.until = g.lb.cfg.Now().Add(g.delay)
}

func (g *httpGroup) use(used bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.used == used {
		return
	}
	g.used = used
	for _, t := range g.targets {
		if t.state != StateDraining {
			t.end()
			g.begin(t)
		}
	}
}

// begin puts t into its first state and starts its checks if the group is in
// use. The caller holds g.mu.
func (g *httpGroup) begin(t *target) {
	if !g.used {
		t.tally = tally{state: StateUnused, reason: healthNotInUse}
		return
	}
	t.stop = g.checker.start(&g.mu, &t.tally, t.addr, func(ctx context.Context) string {
		return g.checker.probeHTTP(ctx, t.addr)
	})
}

// end stops the checks of t. The caller holds the mutex of its group.
func (t *target) end() {
	if t.stop != nil {
		t.stop()
		t.stop = nil
	}
}

// expire forgets targets that have drained. The caller holds g.mu.
func (g *httpGroup) expire() {
	now := g.lb.cfg.Now()
	g.targets = slices.DeleteFunc(g.targets, func(t *target) bool {
		return t.state == StateDraining && !now.Before(t.until)
	})
}

func (g *httpGroup) find(addr string) int {
	return slices.IndexFunc(g.targets, func(t *target) bool { return t.addr == addr })
}

// pick returns the target that r's client is bound to, or else the next healthy one
// in turn. If none is healthy, all that are registered will do (fail open). ok is
// false if none is registered.
func (g *httpGroup) pick(r *http.Request) (addr string, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var healthy, registered []string
	for _, t := range g.targets {
		if t.state == StateHealthy {
			healthy = append(healthy, t.addr)
		}
		if t.state != StateDraining {
			registered = append(registered, t.addr)
		}
	}
	pool := healthy
	if len(pool) == 0 {
		pool = registered
	}
	if len(pool) == 0 {
		return "", false
	}
	if addr, ok := g.sticky.bound(r, pool); ok {
		return addr, true
	}
	g.turn++
	return pool[g.turn%len(pool)], true
}

func (g *httpGroup) health() []TargetHealth {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.expire()
	var all []TargetHealth
	for _, t := range g.targets {
		all = append(all, TargetHealth{Target: t.addr, State: t.state, Reason: t.reason})
	}
	return all
}

func (g *httpGroup) close() { g.transport.CloseIdleConnections() }
