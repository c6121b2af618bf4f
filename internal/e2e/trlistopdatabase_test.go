package e2e

import (
	"bufio"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// database is a server that answers each line with its version.
type database struct {
	t       *testing.T
	address string // of a host of its own: no client's port can take it meanwhile

	listener           net.Listener // nil while it is away
	version            int
	accepting, serving sync.WaitGroup

	mu    sync.Mutex // guards the following
	conns []net.Conn
}

func startDatabase(t *testing.T) *database {
	t.Helper()
	d := &database{t: t, address: "127.0.0.21:0"}
	d.start()
	t.Cleanup(d.stop)
	return d
}

// start starts the next version.
func (d *database) start() {
	d.t.Helper()
	var err error
	d.listener, err = (&net.ListenConfig{}).Listen(d.t.Context(), "tcp", d.address)
	require.NoError(d.t, err)
	d.address = d.listener.Addr().String()
	d.version++
	listener, answer := d.listener, fmt.Sprintf("%d\n", d.version)
	d.accepting.Go(func() { d.accept(listener, answer) })
}

// accept returns once the listener is closed.
func (d *database) accept(listener net.Listener, answer string) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		d.mu.Lock()
		d.conns = append(d.conns, conn)
		d.mu.Unlock()
		d.serving.Go(func() {
			defer func() { _ = conn.Close() }()
			for lines := bufio.NewScanner(conn); lines.Scan(); {
				_, _ = conn.Write([]byte(answer)) // who is gone sends no more lines
			}
		})
	}
}

// stop takes the database away: who is connected is cut off, and nobody can connect.
func (d *database) stop() {
	if d.listener == nil {
		return
	}
	_ = d.listener.Close()
	d.listener = nil
	d.accepting.Wait()
	d.mu.Lock()
	for _, conn := range d.conns {
		_ = conn.Close()
	}
	d.conns = nil
	d.mu.Unlock()
	d.serving.Wait()
}

// stretch is a stretch of time by the wall clock, which processes share.
type stretch struct{ from, to time.Time }

// meets reports whether s and o have an instant in common.
func (s stretch) meets(o stretch) bool { return !s.from.After(o.to) && !o.from.After(s.to) }

// within reports whether s lies in o entirely.
func (s stretch) within(o stretch) bool { return !s.from.Before(o.from) && !s.to.After(o.to) }

// replace takes the database away, and brings its next version some time later. It
// returns when it was away.
func (d *database) replace() stretch {
	d.t.Helper()
	const work = 500 * time.Millisecond
	from := time.Now()
	d.stop()
	time.Sleep(work)
	to := time.Now()
	d.start()
	return stretch{from, to}
}
