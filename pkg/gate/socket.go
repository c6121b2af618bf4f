package gate

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// Go is the byte that lets a request in.
const Go = 'G'

// Socket is a gate for programs in any language. For each request a program
// connects, waits for one byte, [Go], and closes the connection when the request is
// done; a connection that dies with its program counts as closed. While the gate
// is paused nobody is given the byte. Who has waited for HoldMax, or finds MaxHeld
// waiting, has the connection closed without a byte: the program answers 503.
//
// A connection whose first line is "GATE 1" is that of a reporter: each further
// line is a JSON object of a gate's figures ([Gate] sends one each 250 ms). The
// last ones of a connection that broke count for a second more, so that a reporter
// that comes back was never gone. One that says nothing for two seconds is not
// believed to act on any epoch until it does.
type Socket struct {
	config   SocketConfig
	counter  *Counter
	listener net.Listener // nil in tests
	serving  sync.WaitGroup
	closed   chan struct{}

	mu        sync.Mutex // guards the following
	paused    bool
	releasing bool // a goroutine lets held ones in, one after the other
	peers     map[*peer]struct{}
	held      []*peer // the longest waiting first
	ledger    ledger
}

// Pause gives nobody the byte any more. Figures from then on hold all requests that
// were given it.
func (s *Socket) Pause() { s.Set(true) }

// Resume lets in who comes at once, and who waits one after the other over a
// quarter of HoldMax at most.
func (s *Socket) Resume() { s.Set(false) }

// Set pauses or resumes.
func (s *Socket) Set(paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = paused
	if paused {
		s.counter.Pause(s.config.Now())
		return
	}
	s.counter.Resume()
	if len(s.held) > 0 && !s.releasing && !s.isClosed() {
		s.releasing = true
		s.serving.Go(s.release)
	}
}

// Figures returns the numbers of all requests that came here and of all reporters.
// In flight is who was given the byte and has not closed. SeenEpoch is the lowest
// of the reporters, zero where there is none.
func (s *Socket) Figures() cluster.Figures {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.config.Now()
	return s.ledger.merge(s.counter.Figures(now), time.Now())
}

// Reporters returns how many gates are connected to report their figures.
func (s *Socket) Reporters() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.live()
}

// Close closes all connections and removes the socket. It returns when nothing of
// it runs any more.
func (s *Socket) Close() error {
	s.mu.Lock()
	if s.isClosed() {
		s.mu.Unlock()
		return nil
	}
	close(s.closed)
	for p := range s.peers {
		_ = p.conn.Close()
	}
	s.mu.Unlock()
	var err error
	if s.listener != nil {
		err = s.listener.Close()
	}
	s.serving.Wait()
	return err
}

func (s *Socket) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// accept takes connections until the socket is closed. Where none can be taken, for
// want of file descriptors as a rule, it tries again.
func (s *Socket) accept() {
	const pause = 10 * time.Millisecond
	for {
		conn, err := s.listener.Accept()
		switch {
		case err == nil:
			s.serving.Go(func() { s.serve(conn) })
		case errors.Is(err, net.ErrClosed):
			return
		default:
			s.sleep(pause)
		}
	}
}

// sleep returns after d, or when the socket is closed.
func (s *Socket) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.closed:
	}
}

// release lets in who waits, the longest waiting first, so fast that a full house
// takes a quarter of HoldMax, until nobody waits or the gate is paused again.
func (s *Socket) release() {
	step := s.config.HoldMax / 4 / time.Duration(s.config.MaxHeld)
	for due := time.Now(); ; {
		p := s.next()
		if p == nil {
			return
		}
		p.sendGo()
		due = due.Add(step) // whatever this one took
		s.sleep(time.Until(due))
	}
}

// next lets in the first who waits; nil where there is none.
func (s *Socket) next() *peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused || len(s.held) == 0 || s.isClosed() {
		s.releasing = false
		return nil
	}
	p := s.held[0]
	s.letIn(p)
	return p
}
