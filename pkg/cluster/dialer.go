package cluster

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

// dialer dials for a client's pool.
type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// dial dials within timeout and the context, TLS handshake included: the library's
// own dialer forgets the context there. serverName tells by which name the
// certificate of an address is checked.
func dial(timeout time.Duration, config *tls.Config, serverName func(addr string) string) dialer {
	plain := &net.Dialer{Timeout: timeout}
	if config == nil {
		return plain.DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c := config.Clone()
		c.ServerName = serverName(addr)
		return (&tls.Dialer{NetDialer: plain, Config: c}).DialContext(ctx, network, addr)
	}
}

// forgiving makes a failed dial a connection that fails. A pool counts failed
// dials: after as many as it is large it dials no more, gives every caller the
// old error, and leaves it to a goroutine that sleeps for a second to find out
// that the server is back (go-redis v9.23, internal/pool/pool.go, dialConn and
// tryDial). The first request after that would still find no registry, and in a
// frozen function the goroutine stands still as well.
func forgiving(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return refused{reason{err}}, nil
		}
		return conn, nil
	}
}

// reason is why a dial failed, as text alone. By its cause the library would know
// a failed dial and try again: HELLO three times on a connection that never was,
// and all that three times.
type reason struct{ cause error }

func (r reason) Error() string { return r.cause.Error() }

// refused is a connection that never was. Reading and writing give the reason.
type refused struct{ reason error }

func (r refused) Read([]byte) (int, error)       { return 0, r.reason }
func (r refused) Write([]byte) (int, error)      { return 0, r.reason }
func (refused) Close() error                     { return nil }
func (refused) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (refused) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (refused) SetDeadline(time.Time) error      { return nil }
func (refused) SetReadDeadline(time.Time) error  { return nil }
func (refused) SetWriteDeadline(time.Time) error { return nil }
