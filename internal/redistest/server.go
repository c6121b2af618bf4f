package redistest

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/detourhq/detour/internal/child"
)

const (
	startTimeout = 10 * time.Second // until the server answers
	stopTimeout  = 5 * time.Second  // between SIGTERM and SIGKILL
	portTries    = 5
)

// Server is a running redis-server. It belongs to one test and to one
// goroutine at a time.
type Server struct {
	Addr string      // 127.0.0.1:port
	URL  string      // redis://Addr, or rediss://Addr with TLS
	TLS  *tls.Config // for clients: trusts the server's CA; nil without TLS

	CAFile string // the certificate of the server's CA, PEM; "" without TLS

	t       testing.TB
	starter *child.Starter
	program string // path of redis-server
	dir     string
	port    int
	busPort int // of a cluster's members among themselves
	cmd     *exec.Cmd
	exited  chan struct{} // closed when cmd has ended and was waited for

	authority *authority // nil without TLS
	cluster   bool
	member    bool // of a Cluster, which sees to the slots
	lines     []string
}

// Start starts redis-server from PATH and returns once it answers. It keeps
// nothing on disk unless told to by WithConfig, and dies with the test or,
// where it must, with the test's process. Any failure ends the test.
func Start(t testing.TB, options ...Option) *Server {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("redis-server not found: run `make deps`")
	}
	s := &Server{t: t, starter: child.NewStarter(), program: program, dir: t.TempDir()}
	t.Cleanup(func() {
		s.Kill()
		s.starter.Close()
	})
	for _, option := range options {
		option(s)
	}
	if s.authority != nil {
		if err := s.writeCertificates(); err != nil {
			t.Fatalf("redistest: %v", err)
		}
	}
	s.startOnFreePort()
	return s
}

// Stop ends the server in order (SIGTERM), suspended or not, and waits for its
// end. What it was configured to keep, it keeps.
func (s *Server) Stop() {
	s.t.Helper()
	if !s.running() {
		return
	}
	s.Resume()
	s.signal("terminate", child.Terminate)
	select {
	case <-s.exited:
	case <-time.After(stopTimeout):
		s.t.Errorf("redistest: redis-server does not stop\n%s", s.log())
		s.Kill()
	}
}

// Kill ends the server at once (SIGKILL), suspended or not, and waits for its
// end.
func (s *Server) Kill() {
	s.t.Helper()
	if s.running() {
		s.signal("kill", child.Kill)
		<-s.exited
	}
}

// Suspend stops the server (SIGSTOP): connections open and bytes are taken by
// the kernel, but nothing is answered until Resume.
func (s *Server) Suspend() {
	s.t.Helper()
	s.signal("suspend", child.Stop)
}

// Resume ends Suspend.
func (s *Server) Resume() {
	s.t.Helper()
	s.signal("resume", child.Continue)
}

// Restart stops the server if it runs and starts it again on the same port,
// empty unless it was configured to keep its data.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	if err := s.start(); err != nil {
		s.t.Fatalf("redistest: restart redis-server: %v\n%s", err, s.log())
	}
}

func (s *Server) signal(verb string, send func(*os.Process) error) {
	s.t.Helper()
	if !s.running() {
		s.t.Errorf("redistest: %s redis-server: it is not running", verb)
		return
	}
	if err := send(s.cmd.Process); err != nil {
		s.t.Errorf("redistest: %v", err)
	}
}

func (s *Server) running() bool {
	if s.cmd == nil {
		return false
	}
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
}

// startOnFreePort tries other ports when someone else takes the one found free
// before the server does.
func (s *Server) startOnFreePort() {
	s.t.Helper()
	var err error
	for range portTries {
		if err = s.choosePort(); err != nil {
			break
		}
		if err = s.start(); err == nil {
			return
		}
		s.Kill()
	}
	s.t.Fatalf("redistest: start redis-server: %v\n%s", err, s.log())
}

func (s *Server) choosePort() (err error) {
	if s.busPort, err = freePort(); err != nil {
		return err
	}
	if s.port, err = freePort(); err != nil {
		return err
	}
	s.Addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
	s.URL = "redis://" + s.Addr
	if s.authority != nil {
		s.URL = "rediss://" + s.Addr
	}
	return nil
}

func freePort() (int, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }
