package locallambda

import (
	"context"
	"sync"
	"time"

	"github.com/detourhq/detour/internal/child"
)

// Host is one deployed function. It is safe for concurrent use.
type Host struct {
	cfg     Config
	starter *child.Starter
	busy    chan struct{} // one element per invocation under way

	life context.Context // ends with Close, and with it every copy
	end  context.CancelFunc
	work sync.WaitGroup // invocations, processes and Runtime APIs

	mu     sync.Mutex // guards what follows, and work.Add against Close
	idle   []*funcCopy
	alive  map[*funcCopy]struct{}
	counts Stats
}

// New returns a host of the function. It starts nothing yet: copies start on
// demand, as on Lambda. The caller must Close it.
func New(cfg Config) (*Host, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	h := &Host{
		cfg:     cfg,
		starter: child.NewStarter(),
		busy:    make(chan struct{}, cfg.Copies),
		alive:   map[*funcCopy]struct{}{},
	}
	h.life, h.end = context.WithCancel(context.Background())
	return h, nil
}

// Close kills every copy and waits until none is left. Invocations under way
// get ErrClosed. It may be called again.
func (h *Host) Close() {
	h.mu.Lock()
	first := h.life.Err() == nil
	h.end()
	h.mu.Unlock()
	h.work.Wait()
	if first {
		h.starter.Close()
	}
}

// Invoke gives payload to an idle copy, or else to a new one, and returns the
// function's answer. It returns when the copy is idle again or dead, so that
// the next Invoke finds it so. When ctx ends first, Invoke returns its error
// and the invocation runs on, as on Lambda when the caller has gone.
//
// The error is ErrTooLarge, ErrThrottled, ErrTimeout, ErrClosed or a
// *FunctionError, or that of ctx; anything else means that the binary could not
// be started.
func (h *Host) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	if len(payload) > MaxPayload {
		return nil, ErrTooLarge
	}
	if err := h.enter(ctx); err != nil {
		return nil, err
	}
	done := make(chan answer, 1)
	if !h.spawn(func() { done <- h.run(payload) }) {
		<-h.busy
		return nil, ErrClosed
	}
	select {
	case got := <-done:
		return got.payload, got.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// enter takes one of the places for invocations; run gives it back.
func (h *Host) enter(ctx context.Context) error {
	if h.life.Err() != nil {
		return ErrClosed
	}
	if !h.cfg.WaitForCopy {
		select {
		case h.busy <- struct{}{}:
			return nil
		default:
			h.count(func(s *Stats) { s.Throttles++ })
			return ErrThrottled
		}
	}
	select {
	case h.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-h.life.Done():
		return ErrClosed
	}
}

// spawn runs f in the background unless the host is closed.
func (h *Host) spawn(f func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.Err() != nil {
		return false
	}
	h.work.Go(f)
	return true
}

func (h *Host) run(payload []byte) answer {
	defer func() { <-h.busy }()
	c, err := h.take()
	if err != nil {
		return answer{err: h.orClosed(err)}
	}
	h.count(func(s *Stats) { s.Invocations++ })
	now := time.Now()
	body, err := c.serve(invocation{
		id:       newID(),
		payload:  payload,
		deadline: now.Add(h.cfg.Timeout),
		trace:    newTrace(now),
	})
	h.put(c)
	return answer{body, h.orClosed(err)}
}

// orClosed returns err, or ErrClosed if err came of closing the host.
func (h *Host) orClosed(err error) error {
	if err != nil && h.life.Err() != nil {
		return ErrClosed
	}
	return err
}

// take returns the copy that was idle for the shortest time, thawed, or a new
// one that waits for work.
func (h *Host) take() (*funcCopy, error) {
	for c := h.pop(); c != nil; c = h.pop() {
		if c.alive() {
			c.thaw()
			return c, nil
		}
	}
	return h.start()
}

func (h *Host) pop() *funcCopy {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := len(h.idle) - 1
	if last < 0 {
		return nil
	}
	c := h.idle[last]
	h.idle = h.idle[:last]
	return c
}

// put freezes a copy that has asked for work and keeps it; a dead one is
// forgotten.
func (h *Host) put(c *funcCopy) {
	frozen := c.stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	if frozen {
		h.counts.Frozen++
	}
	if c.alive() {
		h.idle = append(h.idle, c)
	}
}
