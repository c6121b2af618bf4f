package gate

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUserAndGroupMayConnect(t *testing.T) {
	_, path := listening(t, SocketConfig{})
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, fs.ModeSocket|0o660, info.Mode())
}

func TestASocketIsReplacedOnlyIfNobodyListens(t *testing.T) {
	s, path := listening(t, SocketConfig{})
	_, err := Listen(path, SocketConfig{})
	require.ErrorIs(t, err, ErrInUse)
	connect(t, path).hears("G")
	require.NoError(t, s.Close())

	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
	require.FileExists(t, path, "as a process leaves it that was killed")
	s, err = Listen(path, SocketConfig{})
	require.NoError(t, err)
	connect(t, path).hears("G")
	require.NoError(t, s.Close())
}

func TestWhatIsNoSocketIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "precious")
	require.NoError(t, os.WriteFile(path, []byte("text"), 0o600))
	_, err := Listen(path, SocketConfig{})
	require.ErrorContains(t, err, "is no socket")
	assert.FileExists(t, path)
}

func TestThePathMayNotBeTooLong(t *testing.T) {
	t.Chdir(t.TempDir()) // whose own path counts too, unless it is left out
	s, err := Listen(strings.Repeat("a", 107), SocketConfig{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	_, err = Listen(strings.Repeat("a", 108), SocketConfig{})
	require.ErrorContains(t, err, "path of 108 bytes, longer than 107")
}

func TestAFolderThatIsMissingIsSaid(t *testing.T) {
	_, err := Listen(filepath.Join(t.TempDir(), "none", "gate.sock"), SocketConfig{})
	require.ErrorIs(t, err, fs.ErrNotExist)
}
