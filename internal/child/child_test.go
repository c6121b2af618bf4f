//go:build unix

package child_test

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/child"
)

// patience bounds every wait of these tests.
const patience = 10 * time.Second

// family starts a shell that starts a sleep and prints its pid.
func family(t *testing.T) (shell *exec.Cmd, sleep int) {
	t.Helper()
	s := child.NewStarter()
	t.Cleanup(s.Close)
	shell = exec.CommandContext(t.Context(), "sh", "-c", "sleep 60 & echo $!; wait")
	out, err := shell.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.Start(shell))
	t.Cleanup(func() { _ = child.Kill(shell.Process); _ = shell.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	sleep, err = strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	return shell, sleep
}

// state returns what ps(1) says of a process, empty if there is none.
func state(t *testing.T, pid int) string {
	t.Helper()
	out, _ := exec.CommandContext(t.Context(), "ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
	return strings.TrimSpace(string(out))
}

func eventually(t *testing.T, pid int, states ...string) {
	t.Helper()
	require.Eventually(t, func() bool {
		got := state(t, pid)
		for _, want := range states {
			if got == want {
				return true
			}
		}
		return false
	}, patience, 5*time.Millisecond, "process %d never in %q, but %q", pid, states, state(t, pid))
}

func TestStopAndContinueReachTheWholeGroup(t *testing.T) {
	shell, sleep := family(t)
	require.NoError(t, child.Stop(shell.Process))
	eventually(t, shell.Process.Pid, "T")
	eventually(t, sleep, "T")
	require.NoError(t, child.Continue(shell.Process))
	eventually(t, shell.Process.Pid, "S")
	eventually(t, sleep, "S")
}

func TestKillEndsAStoppedGroup(t *testing.T) {
	shell, sleep := family(t)
	require.NoError(t, child.Stop(shell.Process))
	require.NoError(t, child.Kill(shell.Process))
	require.Error(t, shell.Wait())
	eventually(t, sleep, "", "Z")
}

func TestTerminateCanBeAnswered(t *testing.T) {
	s := child.NewStarter()
	defer s.Close()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `trap "exit 5" TERM; echo; while :; do sleep 0.01; done`)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.Start(cmd))
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, child.Terminate(cmd.Process))
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	assert.Equal(t, 5, exit.ExitCode())
}

func TestASignalToNobodyIsAnError(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "true")
	s := child.NewStarter()
	defer s.Close()
	require.NoError(t, s.Start(cmd))
	require.NoError(t, cmd.Wait())
	require.ErrorIs(t, child.Stop(cmd.Process), syscall.ESRCH)
	require.ErrorIs(t, child.Terminate(cmd.Process), os.ErrProcessDone)
}

func TestAClosedStarterRefuses(t *testing.T) {
	s := child.NewStarter()
	s.Close()
	require.ErrorIs(t, s.Start(exec.CommandContext(t.Context(), "true")), child.ErrClosed)
}

func TestAStartThatFailsIsTold(t *testing.T) {
	s := child.NewStarter()
	defer s.Close()
	require.ErrorIs(t, s.Start(exec.CommandContext(t.Context(), "/no/such/program")), os.ErrNotExist)
}
