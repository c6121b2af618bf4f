package gate

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// listening returns a socket and its path.
func listening(t *testing.T, c SocketConfig) (*Socket, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gate.sock")
	s, err := Listen(path, c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s, path
}

// client is one request of a program.
type client struct {
	t *testing.T
	*net.UnixConn
}

func connect(t *testing.T, path string) client {
	t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return client{t, conn}
}

// hears waits for the byte, or the connection's end without one.
func (c client) hears(want string) {
	c.t.Helper()
	require.NoError(c.t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	var b [2]byte
	n, err := c.Read(b[:])
	assert.Equal(c.t, want, string(b[:n]))
	if want == "" {
		assert.False(c.t, errors.Is(err, os.ErrDeadlineExceeded), "the connection is to end")
	}
}

// hearsNothing looks for a moment.
func (c client) hearsNothing() {
	c.t.Helper()
	require.NoError(c.t, c.SetReadDeadline(time.Now().Add(30*time.Millisecond)))
	_, err := c.Read(make([]byte, 1))
	assert.ErrorIs(c.t, err, os.ErrDeadlineExceeded)
}

// inFlight waits until s has so many in flight.
func inFlight(t *testing.T, s *Socket, n int64) {
	t.Helper()
	require.Eventually(t, func() bool { return s.Figures().InFlight == n }, 20*time.Second, time.Millisecond,
		"%d in flight", s.Figures().InFlight)
}

func TestARequestIsInFlightFromItsByteToItsEnd(t *testing.T) {
	s, path := listening(t, SocketConfig{})
	a := connect(t, path)
	a.hears("G")
	assert.EqualValues(t, 1, s.Figures().InFlight)
	s.Pause()
	b := connect(t, path)
	b.hearsNothing()
	assert.EqualValues(t, 1, s.Figures().InFlight, "who waits is not in flight")
	assert.EqualValues(t, 2, s.Figures().Arrivals, "but has arrived")
	require.NoError(t, a.Close())
	inFlight(t, s, 0)
	s.Resume()
	b.hears("G")
	assert.EqualValues(t, 1, s.Figures().InFlight)
	require.NoError(t, b.CloseWrite(), "half a close is a close")
	inFlight(t, s, 0)
	b.hears("")
}

func TestWhoGoesWhileWaitingIsForgotten(t *testing.T) {
	s, path := listening(t, SocketConfig{MaxHeld: 1})
	s.Pause()
	a := connect(t, path)
	a.hearsNothing()
	connect(t, path).hears("")
	require.NoError(t, a.Close())
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.held) == 0
	}, 20*time.Second, time.Millisecond)
	b := connect(t, path)
	b.hearsNothing()
	s.Resume()
	b.hears("G")
	assert.EqualValues(t, 3, s.Figures().Arrivals)
}

func TestAnOldRequestMayCountAsOver(t *testing.T) {
	s, path := listening(t, SocketConfig{MaxAge: 50 * time.Millisecond})
	a := connect(t, path)
	a.hears("G")
	a.hears("")
	inFlight(t, s, 0)
}

func TestWhatARequestSendsIsThrownAway(t *testing.T) {
	s, path := listening(t, SocketConfig{})
	for _, text := range []string{"hello\n", "GATE", strings.Repeat("x", 10*mostLine)} {
		a := connect(t, path)
		a.hears("G")
		_, err := io.WriteString(a, text)
		require.NoError(t, err)
		a.hearsNothing()
		assert.EqualValues(t, 1, s.Figures().InFlight)
		require.NoError(t, a.Close())
		inFlight(t, s, 0)
	}
	assert.Zero(t, s.Reporters())
}

func TestAThousandAtOnce(t *testing.T) {
	s, path := listening(t, SocketConfig{HoldMax: 2 * time.Second})
	var all sync.WaitGroup
	for i := range 1000 {
		all.Go(func() {
			conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path})
			if !assert.NoError(t, err) {
				return
			}
			defer func() { _ = conn.Close() }()
			if i%10 == 0 {
				return // gone before its byte
			}
			_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
			_, err = io.ReadFull(conn, make([]byte, 1))
			assert.NoError(t, err)
		})
		if i%250 == 100 {
			s.Set(i%500 == 100)
		}
	}
	all.Wait()
	inFlight(t, s, 0)
	require.Eventually(t, func() bool { return s.Figures().Arrivals == 1000 }, 20*time.Second, time.Millisecond)
}

func TestAPythonProgram(t *testing.T) {
	s, path := listening(t, SocketConfig{})
	start := func() (*exec.Cmd, io.WriteCloser, *bufio.Reader) {
		cmd := exec.CommandContext(t.Context(), "python3", "testdata/request.py", path)
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		return cmd, in, bufio.NewReader(out)
	}
	said := func(r *bufio.Reader) string {
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		return strings.TrimSpace(line)
	}
	cmd, in, out := start()
	require.Equal(t, "GO", said(out))
	inFlight(t, s, 1)
	_, err := io.WriteString(in, "done\n")
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())
	inFlight(t, s, 0)

	cmd, _, out = start()
	require.Equal(t, "GO", said(out))
	inFlight(t, s, 1)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	inFlight(t, s, 0)

	s.Pause()
	cmd, in, out = start()
	require.Eventually(t, func() bool { return s.Figures().Arrivals == 3 }, 20*time.Second, time.Millisecond)
	require.NoError(t, s.Close())
	require.Equal(t, "503", said(out), "an agent that ends lets nobody wait for ever")
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())

	_, in, out = start()
	require.Equal(t, "GO", said(out), "without an agent the application serves")
	require.NoError(t, in.Close())
}

func TestCloseEndsAll(t *testing.T) {
	s, path := listening(t, SocketConfig{})
	going := connect(t, path)
	going.hears("G")
	s.Pause()
	waiting := connect(t, path)
	waiting.hearsNothing()
	require.NoError(t, s.Close())
	going.hears("")
	waiting.hears("")
	assert.NoFileExists(t, path)
	assert.Equal(t, int64(0), s.Figures().InFlight)
	require.NoError(t, s.Close())
	s.Resume()
	assert.Equal(t, cluster.Figures{Arrivals: 2}.Arrivals, s.Figures().Arrivals)
}

func TestTheDocumentShowsTheProgramThatIsTested(t *testing.T) {
	program, err := os.ReadFile("testdata/gate.py")
	require.NoError(t, err)
	document, err := os.ReadFile("../../docs/gate.md")
	require.NoError(t, err)
	assert.Contains(t, string(document), "```python\n"+string(program)+"```")
}
