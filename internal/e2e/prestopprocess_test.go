package e2e

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/child"
)

// process is a program that runs until it is told to end, or the test has ended.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	log  journal       // its standard error
	over chan struct{} // closed once it has ended

	mu   sync.Mutex // guards the following
	said []string   // its standard output, and that of its own processes, by line
}

// start starts a program. Environment are NAME=VALUE beside the test's own.
func start(t *testing.T, environment []string, program string, args ...string) *process {
	t.Helper()
	p := &process{t: t, over: make(chan struct{})}
	p.cmd = exec.CommandContext(context.Background(), program, args...) // ends with the test's cleanup
	p.cmd.Env = append(os.Environ(), environment...)
	out, in, err := os.Pipe()
	require.NoError(t, err)
	p.cmd.Stdout, p.cmd.Stderr = in, &p.log
	starter := child.NewStarter()
	require.NoError(t, starter.Start(p.cmd))
	_ = in.Close()
	var reading sync.WaitGroup
	reading.Go(func() { p.listen(out) })
	go func() {
		_ = p.cmd.Wait()
		close(p.over)
	}()
	t.Cleanup(func() {
		_ = child.Kill(p.cmd.Process)
		<-p.over
		starter.Close()
		reading.Wait()
		if t.Failed() {
			t.Logf("%s says:\n%s", filepath.Base(program), p.log.excerpt())
		}
	})
	return p
}

func (p *process) listen(out *os.File) {
	defer func() { _ = out.Close() }()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		p.mu.Lock()
		p.said = append(p.said, lines.Text())
		p.mu.Unlock()
	}
}

// lines returns what follows word in each line so far that begins with it.
func (p *process) lines(word string) (rest []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.said {
		if after, ok := strings.CutPrefix(l, word+" "); ok {
			rest = append(rest, after)
		}
	}
	return rest
}

// await waits for a line that begins with word, and returns what follows.
func (p *process) await(word string) string {
	p.t.Helper()
	var found []string
	require.Eventually(p.t, func() bool {
		found = p.lines(word)
		return len(found) > 0
	}, patience, 5*time.Millisecond, "the program never says %q", word)
	return found[0]
}

// instants returns the times that lines of one word tell.
func (p *process) instants(word string) (all []time.Time) {
	for _, l := range p.lines(word) {
		all = append(all, instant(p.t, l))
	}
	return all
}

// instant reads a time in ns since the Unix epoch.
func instant(t *testing.T, text string) time.Time {
	t.Helper()
	ns, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err)
	return time.Unix(0, ns)
}

// end tells the program to end, by SIGTERM.
func (p *process) end() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
}

// code waits until the program has ended, and returns its exit code.
func (p *process) code() int {
	p.t.Helper()
	select {
	case <-p.over:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		require.Fail(p.t, "the program does not end")
		return 0
	}
}
