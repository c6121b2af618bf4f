package locallambda

import (
	"crypto/rand"
	"fmt"
	"io"
	"sync"
	"time"
)

// start is a cold start: it returns a copy that waits for its first work.
func (h *Host) start() (*funcCopy, error) {
	h.count(func(s *Stats) { s.ColdStarts++ })
	began := time.Now()
	c, err := newCopy(h.life, h.cfg)
	if err != nil {
		return nil, err
	}
	h.work.Go(c.api.serve)
	if err := h.starter.Start(c.cmd); err != nil {
		c.api.close()
		return nil, fmt.Errorf("start copy: %w", err)
	}
	h.mu.Lock()
	h.alive[c] = struct{}{}
	h.mu.Unlock()
	h.work.Go(func() { h.reap(c) })
	if err := c.await(initTimeout); err != nil {
		return nil, err
	}
	h.count(func(s *Stats) { s.LastStart = time.Since(began) })
	return c, nil
}

func (h *Host) reap(c *funcCopy) {
	c.reap()
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.alive, c)
}

// newID returns a random UUID (RFC 9562 §5.4), the form of request ids.
func newID() string {
	b := random(16)
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// newTrace returns an X-Ray tracing header of a request that is not sampled.
func newTrace(now time.Time) string {
	return fmt.Sprintf("Root=1-%08x-%x;Parent=%x;Sampled=0", now.Unix(), random(12), random(8))
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}

// lockedWriter lets several copies share a writer.
type lockedWriter struct {
	mu sync.Mutex // guards w
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
