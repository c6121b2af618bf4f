package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/detourhq/detour/internal/localalb"
	"github.com/detourhq/detour/pkg/cluster"
)

// stage is what every demo stands on.
type stage struct {
	phase    func(string) // is told what begins
	registry *cluster.Registry
	balancer *localalb.LoadBalancer

	undo []func(context.Context) error // clean-up, in the order in which it was set up
}

// closeLimit bounds the whole clean-up.
const closeLimit = 10 * time.Second

// close ends and removes everything, also when ctx has ended.
func (s *stage) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	var errs []error
	for _, undo := range slices.Backward(s.undo) {
		errs = append(errs, undo(ctx))
	}
	s.undo = nil
	return errors.Join(errs...)
}

// atEnd has undo called when the stage is closed, before what is there already.
func (s *stage) atEnd(undo func(context.Context) error) { s.undo = append(s.undo, undo) }

// openRegistry makes the cluster called name in the registry at the URL given, or
// else in an embedded one, and returns the URL.
func (s *stage) openRegistry(ctx context.Context, given, name string) (address string, err error) {
	if address, err = s.registryURL(given); err != nil {
		return "", err
	}
	client, err := cluster.Dial(address, registryBudget)
	if err != nil {
		return "", fmt.Errorf("open registry: %w", err)
	}
	registry, err := cluster.NewRegistry(client, name)
	if err != nil {
		return "", fmt.Errorf("open registry: %w", err)
	}
	s.registry = registry
	s.atEnd(func(context.Context) error { return registry.Close() })
	began, err := registry.Time(ctx)
	if err != nil {
		return "", fmt.Errorf("open registry: %w", err)
	}
	if given != "" { // an embedded one goes as a whole
		s.atEnd(func(ctx context.Context) error { return registry.Erase(ctx, began) })
	}
	return address, nil
}

func (s *stage) registryURL(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	embedded, err := miniredis.Run()
	if err != nil {
		return "", fmt.Errorf("start embedded registry: %w", err)
	}
	s.atEnd(func(context.Context) error { embedded.Close(); return nil })
	return "redis://" + embedded.Addr(), nil
}

// openBalancer makes the load balancer, which does not listen yet.
func (s *stage) openBalancer() error {
	balancer, err := localalb.New(localalb.Config{})
	if err != nil {
		return err
	}
	s.balancer = balancer
	s.atEnd(func(context.Context) error { return balancer.Close() })
	return nil
}

// health returns the state in which the load balancer sees the target of group at
// address.
func (s *stage) health(group, address string) localalb.TargetHealth {
	targets, _ := s.balancer.Health(group) // the group is there
	for _, t := range targets {
		if t.Target == address {
			return t
		}
	}
	return localalb.TargetHealth{State: localalb.StateUnused}
}

// addressOf is where the node of that number listens at first: on a host of its own,
// from 127.0.0.2 on.
func addressOf(number int) string {
	return net.JoinHostPort(net.IPv4(127, 0, 0, byte(2+number)).String(), "0")
}
