package buildtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const greeting = "./internal/buildtest/testdata/greeting"

// says runs a program.
func says(t *testing.T, program string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program).Output()
	require.NoError(t, err)
	return string(out)
}

func TestAProgramIsBuiltOnce(t *testing.T) {
	first := Program(t, greeting)
	assert.Equal(t, "hello", says(t, first))
	assert.Equal(t, first, Program(t, greeting))

	linked := filepath.Join("../../dist/test/.linked", greeting)
	was := []os.FileInfo{stat(t, first), stat(t, linked)}
	_, err := build(t.Context(), greeting, greeting, nil) // as another package does
	require.NoError(t, err)
	assert.True(t, os.SameFile(was[0], stat(t, first)), "nothing has changed")
	assert.True(t, os.SameFile(was[1], stat(t, linked)), "nothing was linked")
}

func stat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info
}

// Who has found the path of a program can run it at any time.
func TestAProgramIsWholeWhileItChanges(t *testing.T) {
	const name = "internal/buildtest/changing"
	overlays := []string{"-overlay=" + overlay(t, "hello"), "-overlay=" + overlay(t, "good evening")}
	path, err := build(t.Context(), name, greeting, overlays[:1])
	require.NoError(t, err)
	var changing sync.WaitGroup
	changing.Go(func() {
		for i := range 4 {
			_, err := build(t.Context(), name, greeting, overlays[(i+1)%2:(i+1)%2+1])
			assert.NoError(t, err)
		}
	})
	t.Cleanup(changing.Wait)
	over := make(chan struct{})
	go func() {
		changing.Wait()
		close(over)
	}()
	said := map[string]int{}
	for going := true; going; {
		select {
		case <-over:
			going = false
		default:
		}
		said[says(t, path)]++
	}
	assert.Len(t, said, 2, "%v", said)
	assert.Positive(t, said["hello"])
	assert.Positive(t, said["good evening"])
}

// overlay returns a list for go build by which the program says text.
func overlay(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	main, err := filepath.Abs("testdata/greeting/main.go")
	require.NoError(t, err)
	changed := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(changed, []byte("package main\n\nimport \"os\"\n\nfunc main() { _, _ = os.Stdout.WriteString(\""+text+"\") }\n"), 0o600))
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{main: changed}})
	require.NoError(t, err)
	path := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(path, list, 0o600))
	return path
}

func TestAFileIsHeldByOneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var holders atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			unlock, err := lock(path)
			assert.NoError(t, err)
			assert.EqualValues(t, 1, holders.Add(1))
			time.Sleep(time.Millisecond) // for others to come in, if they can
			holders.Add(-1)
			unlock()
		})
	}
	all.Wait()
}

func TestSourcesThatAreNotThereAreAnError(t *testing.T) {
	require.ErrorIs(t, openSources(os.DirFS(t.TempDir())), os.ErrNotExist)
}
