package entry

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDeadOrphans(t *testing.T) {
	proc := t.TempDir()
	for pid, line := range map[int]string{
		10: "10 (sh) Z 7 10 10 0 -1",
		11: "11 (sh) S 7 11 11 0 -1",
		12: "12 (sh) Z 1 12 12 0 -1",
		13: "13 (helper) Z 7 7 7 0 -1",
		14: "14 (a) R 1 (x)) Z 7 14 14 0 -1",
		15: "15 (torn",
	} {
		dir := filepath.Join(proc, fmt.Sprint(pid))
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "stat"), []byte(line), 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(proc, "16"), 0o700))
	assert.Equal(t, []int{10, 14}, deadOrphans(proc, 7, 7), "dead, of parent 7, and not of its group")
	assert.Empty(t, deadOrphans(filepath.Join(proc, "none"), 7, 7))
}

func TestThisProcessReadsItself(t *testing.T) {
	raw, err := os.ReadFile("/proc/self/stat")
	require.NoError(t, err)
	s, ok := parseStat(string(raw))
	require.True(t, ok)
	assert.Equal(t, os.Getpid(), s.pid)
	assert.Equal(t, os.Getppid(), s.parent)
}

func FuzzParseStat(f *testing.F) {
	for _, line := range []string{"10 (sh) Z 7 10 10 0 -1", "14 (a) R 1 (x)) Z 7 14 14 0 -1", "15 (torn", ") (", "1 () Z 0 0", "-1 (x) Z 1 1", "", "1 (x) Z 99999999999999999999 1"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		s, ok := parseStat(line)
		if !ok {
			return
		}
		again, same := parseStat(fmt.Sprintf("%d (%s) %s %d %d 0", s.pid, "any) Z 1 1", s.state, s.parent, s.group))
		if !same || again != s || s.pid <= 0 {
			t.Errorf("%q read as %+v, and that as %+v", line, s, again)
		}
	})
}
