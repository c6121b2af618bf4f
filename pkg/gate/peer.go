package gate

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// peer is one connection to a socket. The socket's lock guards all but conn.
type peer struct {
	conn     net.Conn
	phase    phase
	arrived  time.Time
	before   cluster.Millis // the last arrival before
	patience *time.Timer    // while waiting
}

type phase int

const (
	refused   phase = iota // gets no byte
	waiting                // for its byte
	going                  // was given it
	reporting              // is no request
)

// greetWithin is how long a connection that gets no byte may take to say that it is
// a reporter's.
const greetWithin = 100 * time.Millisecond

// serve sees one connection through.
func (s *Socket) serve(conn net.Conn) {
	p := &peer{conn: conn}
	defer func() { _ = conn.Close() }()
	goes, open := s.welcome(p)
	if !open {
		return
	}
	defer s.part(p)
	if goes {
		p.sendGo()
	}
	s.read(p)
}

// welcome counts the arrival, and lets p in, has it wait, or refuses it. open is
// false once the socket is closed.
func (s *Socket) welcome(p *peer) (goes, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed() {
		return false, false
	}
	s.peers[p] = struct{}{}
	p.arrived, p.before = s.config.Now(), cluster.Millis(s.counter.last.Load())
	s.counter.Arrive(p.arrived)
	switch {
	case !s.paused:
		s.letIn(p)
		return true, true
	case len(s.held) < s.config.MaxHeld:
		p.phase = waiting
		s.held = append(s.held, p)
		p.patience = time.AfterFunc(s.config.HoldMax, func() { s.expire(p) })
	default:
		_ = p.conn.SetReadDeadline(time.Now().Add(greetWithin))
	}
	return false, true
}

// sendGo gives p the byte. That it did not arrive is seen when p is read.
func (p *peer) sendGo() { _, _ = p.conn.Write([]byte{Go}) }

// letIn counts p in. The lock is held.
func (s *Socket) letIn(p *peer) {
	s.unhold(p)
	p.phase = going
	s.counter.Enter()
	if s.config.MaxAge > 0 {
		_ = p.conn.SetReadDeadline(time.Now().Add(s.config.MaxAge))
	}
}

// expire ends p's patience: it is refused, or let in early where the gate is open
// again and p's turn has not come.
func (s *Socket) expire(p *peer) {
	s.mu.Lock()
	goes := p.phase == waiting && !s.paused
	switch {
	case goes:
		s.letIn(p)
	case p.phase == waiting:
		s.unhold(p)
		p.phase = refused
		_ = p.conn.Close()
	}
	s.mu.Unlock()
	if goes {
		p.sendGo()
	}
}

// read returns when the connection ends. What a request sends is thrown away; a
// reporter is listened to as long as it keeps to the form.
func (s *Socket) read(p *peer) {
	lines := bufio.NewReaderSize(p.conn, mostLine)
	line, err := lines.ReadSlice('\n')
	switch {
	case bytes.Equal(line, []byte(greeting)):
		s.listenTo(p, lines)
	case bytes.HasPrefix(line, []byte("GATE ")): // of a version to come
		s.become(p, refused)
	case err == nil, errors.Is(err, bufio.ErrBufferFull):
		_, _ = io.Copy(io.Discard, lines)
	}
}

// listenTo takes the reports of p until it ends or is out of form.
func (s *Socket) listenTo(p *peer, lines *bufio.Reader) {
	s.become(p, reporting)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return
		}
		r, err := parseReport(line)
		if err != nil || !s.take(p, r) {
			return
		}
	}
}

// become makes p what it turned out to be, and takes back that it was counted as a
// request.
func (s *Socket) become(p *peer, is phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counter.retract(p.arrived, p.before)
	s.leave(p)
	p.phase = is
	_ = p.conn.SetReadDeadline(time.Time{})
}

func (s *Socket) take(p *peer, r report) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.take(p, r, time.Now())
}

// part forgets p.
func (s *Socket) part(p *peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(p)
	if p.phase == reporting {
		s.ledger.part(p, time.Now())
	}
	p.phase = refused
	delete(s.peers, p)
}

// leave ends p's wait, or counts it out. The lock is held.
func (s *Socket) leave(p *peer) {
	s.unhold(p)
	if p.phase == going {
		s.counter.Leave()
	}
}

// unhold ends p's wait, if it waits. The lock is held.
func (s *Socket) unhold(p *peer) {
	if p.phase != waiting {
		return
	}
	p.patience.Stop()
	i := slices.Index(s.held, p)
	s.held = slices.Delete(s.held, i, i+1)
}
