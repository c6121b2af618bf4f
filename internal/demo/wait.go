package demo

import (
	"context"
	"fmt"
	"time"
)

// lookEvery is how often a wait looks again.
const lookEvery = 20 * time.Millisecond

// await returns once left returns "". If it still names something after limit,
// the error says that complaint happened, and names it.
func await(ctx context.Context, limit time.Duration, complaint string, left func() string) error {
	end := time.NewTimer(limit)
	defer end.Stop()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		what := left()
		if what == "" {
			return nil
		}
		select {
		case <-tick.C:
		case <-end.C:
			return fmt.Errorf("%s within %v: %s", complaint, limit, what)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// rest waits for d.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
