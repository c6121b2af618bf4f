//go:build linux

package locallambda_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/locallambda"
)

func TestACopyIsFrozenBetweenInvocations(t *testing.T) {
	h := host(t, locallambda.Config{})
	first := mustInvoke(t, h, "echo", "")
	require.Eventually(t, func() bool { return state(first.Pid) == "T" }, patience, time.Millisecond, "stopped")
	assert.Equal(t, 1, h.Stats().Frozen)

	before := cpuTicks(t, first.Pid)
	time.Sleep(100 * time.Millisecond) // idle, so that a ticking function would tick a hundred times
	assert.Equal(t, before, cpuTicks(t, first.Pid))
	second := mustInvoke(t, h, "echo", "")
	assert.Less(t, second.Ticks-first.Ticks, int64(50), "its goroutines stood still")
}

func TestFreezingCanBeTurnedOff(t *testing.T) {
	h := host(t, locallambda.Config{NoFreeze: true})
	first := mustInvoke(t, h, "echo", "")
	require.Eventually(t, func() bool {
		later, err := invoke(t, h, "echo", "")
		return err == nil && later.Ticks-first.Ticks > 50
	}, patience, 20*time.Millisecond)
	assert.Zero(t, h.Stats().Frozen)
}

func TestCloseLeavesNoProcess(t *testing.T) {
	h := host(t, locallambda.Config{Copies: 2, Timeout: patience})
	under := begin(t, h)
	mustInvoke(t, h, "echo", "")
	pids := h.Pids()
	require.Len(t, pids, 2, "one at work, one frozen")
	h.Close()
	for _, pid := range pids {
		assert.Empty(t, state(pid), "process %d", pid)
	}
	require.ErrorIs(t, under.wait(t), locallambda.ErrClosed)
}

// The test runs itself in a process that holds frozen copies, and kills it.
func TestNoCopyOutlivesItsHostsProcess(t *testing.T) {
	if bin := os.Getenv("LOCALLAMBDA_HOLD"); bin != "" {
		hold(t, bin)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "LOCALLAMBDA_HOLD="+binary(t))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	require.NotEmpty(t, state(pid))

	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.Eventually(t, func() bool { return state(pid) == "" || state(pid) == "Z" }, patience, time.Millisecond)
}

// hold prints the pid of an idle copy and waits to be killed.
func hold(t *testing.T, binary string) {
	t.Helper()
	h, err := locallambda.New(locallambda.Config{Binary: binary})
	require.NoError(t, err)
	fmt.Println(mustInvoke(t, h, "echo", "").Pid)
	time.Sleep(patience)
	require.Fail(t, "nobody killed this process")
}

// state returns the process state letter of proc_pid_stat(5), empty if there
// is no such process.
func state(pid int) string {
	fields := stat(pid)
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// cpuTicks returns the processor time that pid has used, in clock ticks.
func cpuTicks(t *testing.T, pid int) string {
	t.Helper()
	fields := stat(pid)
	require.Greater(t, len(fields), 12)
	return fields[11] + "+" + fields[12]
}

// stat returns the fields of /proc/PID/stat from the state on.
func stat(pid int) []string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
}
