package mototest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/detourhq/detour/internal/child"
	"github.com/detourhq/detour/internal/locallambda"
)

const (
	startTimeout = 30 * time.Second // Python takes 3 s where nothing else runs
	portTries    = 3
)

// Server is a running moto server.
type Server struct {
	URL string // http://127.0.0.1:port, the endpoint of every service
}

// Start starts moto_server from dist/venv, which `make deps` makes, or else from
// PATH, and returns once it answers. It holds nothing and dies with the test, or,
// where it must, with the test's process. Any failure ends the test.
func Start(t testing.TB) *Server {
	t.Helper()
	program, err := find()
	if err != nil {
		t.Fatal("moto_server not found: run `make deps`")
	}
	starter := child.NewStarter()
	t.Cleanup(starter.Close)
	for range portTries {
		var s *Server
		if s, err = start(t, starter, program); err == nil {
			return s
		}
	}
	t.Fatalf("mototest: start moto_server: %v", err)
	return nil
}

// find looks in the module's folder first: there the version is pinned.
func find() (string, error) {
	if root, err := locallambda.FindModule("."); err == nil {
		program := filepath.Join(root, "dist", "venv", "bin", "moto_server")
		if _, err := os.Stat(program); err == nil {
			return program, nil
		}
	}
	return exec.LookPath("moto_server")
}

// start starts one process, which is killed when the test ends.
func start(t testing.TB, starter *child.Starter, program string) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	var output bytes.Buffer
	cmd := exec.Command(program, "-H", "127.0.0.1", "-p", strconv.Itoa(port)) //nolint:noctx // lives until the test's cleanup
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := starter.Start(cmd); err != nil {
		return nil, err
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is in its output
		close(exited)
	}()
	stop := func() {
		_ = child.Kill(cmd.Process) // an error says that it has ended
		<-exited
	}
	s := &Server{URL: "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
	if err := s.wait(exited); err != nil {
		stop()
		return nil, fmt.Errorf("%w\n%s", err, output.Bytes())
	}
	t.Cleanup(stop)
	return s, nil
}

// wait asks until moto answers, or its process has ended.
func (s *Server) wait(exited <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		last := s.ready(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-exited:
			return errors.New("the process ended")
		case <-ctx.Done():
			return fmt.Errorf("no answer within %s: %w", startTimeout, last)
		case <-tick.C:
		}
	}
}

func (s *Server) ready(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/moto-api/data.json", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // so that the connection is used again
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("another server has the port: %s", resp.Status)
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
