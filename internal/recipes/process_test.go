//go:build unix

package recipes

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/detourhq/detour/internal/buildtest"
	"github.com/detourhq/detour/internal/child"
)

// process is a program that runs, with all that it starts.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// launch starts argv in a process group of its own, with this environment alone. It
// is killed at the end of the test.
func launch(t *testing.T, log *journal, argv, environment []string) (*process, error) {
	t.Helper()
	p := &process{cmd: exec.CommandContext(context.Background(), lookUp(t, argv[0]), argv[1:]...), ended: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = environment, log, log
	p.cmd.WaitDelay = time.Second // for what holds its output open
	starter := child.NewStarter()
	if err := starter.Start(p.cmd); err != nil {
		starter.Close()
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.kill()
		<-p.ended
		starter.Close()
	})
	return p, nil
}

// searched is PATH for recipes: stand-ins, what was built, and the system's own.
func searched(t *testing.T) string {
	t.Helper()
	here, _ := filepath.Abs(filepath.Join("testdata", "bin"))
	return here + ":" + filepath.Dir(buildtest.Program(t, detour)) + ":" + os.Getenv("PATH")
}

// lookUp finds a command as the started program's own environment would.
func lookUp(t *testing.T, name string) string {
	t.Helper()
	for _, dir := range filepath.SplitList(searched(t)) {
		if path := filepath.Join(dir, name); name == filepath.Base(name) {
			if info, err := os.Stat(path); err == nil && !info.IsDir() {
				return path
			}
		}
	}
	return name
}

// kill ends the process and what is left of its group.
func (p *process) kill() { _ = child.Kill(p.cmd.Process) }

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// within reports whether the process ended within limit.
func (p *process) within(limit time.Duration) bool {
	select {
	case <-p.ended:
		return true
	case <-time.After(limit):
		return false
	}
}

// lives reports whether the process has not ended.
func (p *process) lives() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// code is the exit code of a process that has ended, -1 where a signal ended it.
func (p *process) code() int {
	<-p.ended
	return p.cmd.ProcessState.ExitCode()
}

// journal keeps what is written to it.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}
