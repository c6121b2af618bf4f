package localalb

import (
	"errors"
	"fmt"
	"net"
)

// Register adds targets, as host:port, to a group of HTTP targets. They start
// as initial, also those that were draining; for one that is registered
// already nothing changes. ErrTargetGroupNotFound comes back wrapped.
func (lb *LoadBalancer) Register(group string, targets ...string) error {
	g, err := lb.httpGroup(group)
	if err != nil {
		return fmt.Errorf("register with %q: %w", group, err)
	}
	for _, addr := range targets {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return fmt.Errorf("register with %q: %w", group, err)
		}
	}
	for _, addr := range targets {
		g.register(addr)
	}
	return nil
}

// Deregister drains targets of a group. Unknown ones are ignored.
// ErrTargetGroupNotFound comes back wrapped.
func (lb *LoadBalancer) Deregister(group string, targets ...string) error {
	g, err := lb.httpGroup(group)
	if err != nil {
		return fmt.Errorf("deregister from %q: %w", group, err)
	}
	for _, addr := range targets {
		g.deregister(addr)
	}
	return nil
}

// Health returns the state of each target of a group in order of registration,
// draining ones included, or ErrTargetGroupNotFound.
func (lb *LoadBalancer) Health(group string) ([]TargetHealth, error) {
	lb.mu.Lock()
	g := lb.groups[group]
	lb.mu.Unlock()
	if g == nil {
		return nil, fmt.Errorf("health of %q: %w", group, ErrTargetGroupNotFound)
	}
	return g.health(), nil
}

func (lb *LoadBalancer) httpGroup(name string) (*httpGroup, error) {
	lb.mu.Lock()
	defer lb.mu.Unlock()
	switch g := lb.groups[name].(type) {
	case nil:
		return nil, ErrTargetGroupNotFound
	case *httpGroup:
		return g, nil
	default:
		return nil, errors.New("the group has a function as its target")
	}
}
