package e2e

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxy is the network between a registry and whoever speaks to it. What it
// does not pass on it swallows without a word, as a network does.
type proxy struct {
	addr string

	mu    sync.Mutex
	to    string // where new connections lead
	deaf  bool   // nothing is passed on
	delay time.Duration
	links map[*link]struct{}
}

// link is one connection through a proxy.
type link struct {
	from, to  net.Conn
	forgotten bool // nothing is passed on any more; guarded by the proxy's mu
}

// startProxy starts a proxy that leads to the server at to.
func startProxy(t *testing.T, to string) *proxy {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{addr: listener.Addr().String(), to: to, links: map[*link]struct{}{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		p.cut()
		running.Wait()
	})
	return p
}

// leadTo has new connections lead to the server at to, as a name does that now
// means another address.
func (p *proxy) leadTo(to string) { p.change(func() { p.to = to }) }

// swallow passes nothing on, or does so again.
func (p *proxy) swallow(yes bool) { p.change(func() { p.deaf = yes }) }

// slow delays all that the server says.
func (p *proxy) slow(by time.Duration) { p.change(func() { p.delay = by }) }

// forget passes nothing more on in the connections that stand, as a gateway does
// that has forgotten idle ones.
func (p *proxy) forget() {
	p.change(func() {
		for l := range p.links {
			l.forgotten = true
		}
	})
}

// cut closes the connections that stand.
func (p *proxy) cut() {
	p.change(func() {
		for l := range p.links {
			l.close()
		}
	})
}

func (p *proxy) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *proxy) serve(from net.Conn) {
	defer from.Close()
	p.mu.Lock()
	address := p.to
	p.mu.Unlock()
	to, err := net.DialTimeout("tcp", address, patience) //nolint:noctx // the proxy's end closes from, not a context
	if err != nil {
		return
	}
	l := &link{from: from, to: to}
	p.change(func() { p.links[l] = struct{}{} })
	defer p.change(func() { delete(p.links, l) })
	var both sync.WaitGroup
	both.Go(func() { p.pass(l, to, from, func() time.Duration { return 0 }) })
	both.Go(func() { p.pass(l, from, to, func() time.Duration { return p.delay }) })
	both.Wait()
}

// pass copies until either end closes, which closes the other one too.
func (p *proxy) pass(l *link, to io.Writer, from io.Reader, delay func() time.Duration) {
	defer l.close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		p.mu.Lock()
		swallowed, wait := p.deaf || l.forgotten, delay()
		p.mu.Unlock()
		if swallowed {
			continue
		}
		time.Sleep(wait)
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (l *link) close() {
	_ = l.from.Close()
	_ = l.to.Close()
}
