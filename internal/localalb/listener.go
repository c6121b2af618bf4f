package localalb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// LoadBalancer is one load balancer with one listener. Its methods are safe
// for concurrent use, and take effect for the next request while it serves.
type LoadBalancer struct {
	cfg    Config
	rules  atomic.Pointer[table]
	ctx    context.Context // of the health checks, ended by stop
	stop   context.CancelFunc
	checks sync.WaitGroup

	mu     sync.Mutex // guards the following, and the storing of rules
	groups map[string]group
	srv    *http.Server
	addr   string
}

// group is a target group as listener and rules see it.
type group interface {
	serve(x *exchange)
	health() []TargetHealth
	// use tells whether any rule forwards to the group, with whatever weight.
	use(used bool)
	close()
}

// New returns a load balancer without target groups, whose default rule
// answers 503. The error reports an invalid cfg.
func New(cfg Config) (*LoadBalancer, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	lb := &LoadBalancer{cfg: cfg, groups: map[string]group{}}
	lb.ctx, lb.stop = context.WithCancel(context.Background())
	fallback := compiled{Rule: Rule{Name: DefaultRule, Action: FixedResponse{Status: http.StatusServiceUnavailable}}}
	lb.rules.Store(&table{fallback})
	return lb, nil
}

// Start listens on Config.Addr and serves until Close. Ctx bounds only the
// listening itself.
func (lb *LoadBalancer) Start(ctx context.Context) error {
	lb.mu.Lock()
	defer lb.mu.Unlock()
	if lb.srv != nil || lb.ctx.Err() != nil {
		return errors.New("localalb: started or closed before")
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", lb.cfg.Addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", lb.cfg.Addr, err)
	}
	lb.addr = ln.Addr().String()
	srv := &http.Server{
		Handler:                      lb,
		ReadHeaderTimeout:            lb.cfg.IdleTimeout,
		IdleTimeout:                  clientKeepAlive,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     log.New(io.Discard, "", 0),
	}
	lb.srv = srv
	go func() { _ = srv.Serve(ln) }() // ends with ErrServerClosed
	return nil
}

// URL returns the listener's base URL, http://127.0.0.1:port, or "" before
// Start.
func (lb *LoadBalancer) URL() string {
	lb.mu.Lock()
	defer lb.mu.Unlock()
	if lb.addr == "" {
		return ""
	}
	return "http://" + lb.addr
}

// Close ends the listener, its connections and all health checks, and waits
// for the checks. A closed load balancer cannot be started again.
func (lb *LoadBalancer) Close() error {
	lb.stop()
	lb.checks.Wait()
	lb.mu.Lock()
	defer lb.mu.Unlock()
	for _, g := range lb.groups {
		g.close()
	}
	if lb.srv == nil {
		return nil
	}
	if err := lb.srv.Close(); err != nil {
		return fmt.Errorf("close listener: %w", err)
	}
	return nil
}

// ServeHTTP answers one request as the listener would.
func (lb *LoadBalancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := lb.newExchange(w, r)
	defer x.finish()
	if status, detail := x.refusal(); status != 0 {
		x.fail(status, "", detail)
		return
	}
	rule := lb.rules.Load().match(x)
	x.rec.Rule = rule.Name
	x.forwarded()
	rule.Action.serve(x)
}
