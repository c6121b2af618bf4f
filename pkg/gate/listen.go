package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"
)

// ErrInUse reports that another process listens on the socket.
var ErrInUse = errors.New("gate: socket in use")

// SocketConfig says how many may wait at a [Socket], and how long.
type SocketConfig struct {
	HoldMax time.Duration    // a request waits no longer for its GO; zero means 10 s
	MaxHeld int              // requests that wait at once; zero means 1000
	MaxAge  time.Duration    // a request counts as over after this, though its connection is open; zero means never
	Now     func() time.Time // stamps arrivals: the registry's clock, where it is known; nil means time.Now
}

// Listen opens a socket at path, which user and group may connect to (mode 0660).
// What a process that died has left there is removed; [ErrInUse] comes back where
// one still listens, and an error where the file is no socket, or path is longer
// than the system's socket addresses (107 bytes on Linux, unix(7)).
func Listen(path string, c SocketConfig) (*Socket, error) {
	if most := len(syscall.RawSockaddrUnix{}.Path) - 1; len(path) > most {
		return nil, fmt.Errorf("open gate socket %s: path of %d bytes, longer than %d", path, len(path), most)
	}
	if err := removeStale(path); err != nil {
		return nil, fmt.Errorf("open gate socket: %w", err)
	}
	var listener net.ListenConfig
	l, err := listener.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("open gate socket: %w", err)
	}
	if err := os.Chmod(path, 0o660); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("open gate socket: %w", err)
	}
	s := newSocket(c)
	s.listener = l
	s.serving.Go(s.accept)
	return s, nil
}

// removeStale removes the socket at path unless somebody listens on it.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is there and is no socket", path)
	}
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(context.Background(), "unix", path)
	switch {
	case err == nil:
		_ = conn.Close()
		return fmt.Errorf("%s: %w", path, ErrInUse)
	case errors.Is(err, syscall.ECONNREFUSED):
		return os.Remove(path)
	}
	return err
}

func newSocket(c SocketConfig) *Socket {
	c.HoldMax = cmp.Or(c.HoldMax, 10*time.Second)
	c.MaxHeld = cmp.Or(c.MaxHeld, 1000)
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Socket{config: c, counter: NewCounter(c.Now()), peers: make(map[*peer]struct{}), closed: make(chan struct{})}
}
