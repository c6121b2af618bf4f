package rules

import (
	"context"
	"sync"
	"time"
)

// limiter spaces writes. AWS lets an account change load balancers three times a
// second in one Region, all tools together; a burst of two leaves them the rest.
type limiter struct {
	every time.Duration
	now   func() time.Time

	mu   sync.Mutex
	next time.Time // when the next write is due, one interval ahead of the burst
}

func newLimiter(perSecond float64, now func() time.Time) *limiter {
	return &limiter{every: time.Duration(float64(time.Second) / perSecond), now: now}
}

// wait returns when a write may be made. Where ctx would end first, its place is
// left to others, and the error is [ErrNoTime].
func (l *limiter) wait(ctx context.Context) error {
	l.mu.Lock()
	now := l.now()
	due := l.next
	if earliest := now.Add(-l.every); due.Before(earliest) {
		due = earliest
	}
	pause := due.Sub(now)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < pause {
		l.mu.Unlock()
		return ErrNoTime
	}
	l.next = due.Add(l.every)
	l.mu.Unlock()
	return sleep(ctx, pause)
}

// sleep returns after d, or earlier with the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
