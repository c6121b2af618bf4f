package registrytest_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/pkg/cluster"
)

const prefix = "{detour:test}"

// open returns the registry at url and a client to look behind it.
func open(t *testing.T, url string) (*cluster.Registry, redis.UniversalClient) {
	t.Helper()
	raw, err := cluster.Dial(url, 5*time.Second)
	require.NoError(t, err)
	r, err := cluster.NewRegistry(raw, "test")
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r, raw
}

func snapshot(t *testing.T, r *cluster.Registry) *cluster.Snapshot {
	t.Helper()
	s, err := r.Snapshot(t.Context(), time.Now)
	require.NoError(t, err)
	return s
}

// publisher is docs/examples/publish.py as it runs.
type publisher struct {
	t      *testing.T
	in     io.WriteCloser
	out    *bufio.Reader
	cmd    *exec.Cmd
	errors bytes.Buffer
}

func publish(t *testing.T, server *redistest.Server) *publisher {
	t.Helper()
	const program = "../../docs/examples/publish.py"
	_, err := os.ReadFile(program) // so that the test cache knows it
	require.NoError(t, err)
	python, err := exec.LookPath("python3")
	require.NoError(t, err, "run `make deps`")
	p := &publisher{t: t, cmd: exec.CommandContext(t.Context(), python, program, server.Addr, "test", "n7", "blue", "https://n7.example.com")}
	p.in, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.out, p.cmd.Stderr = bufio.NewReader(out), &p.errors
	require.NoError(t, p.cmd.Start())
	return p
}

func (p *publisher) say(line string) {
	p.t.Helper()
	_, err := io.WriteString(p.in, line+"\n")
	require.NoError(p.t, err)
}

// hears waits for an answer that matches.
func (p *publisher) hears(pattern string) {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		require.NoError(p.t, p.cmd.Wait(), p.errors.String())
	}
	require.Regexp(p.t, "^"+pattern+"\n$", line)
}

func TestTheExamplePublishesANode(t *testing.T) {
	server := redistest.Start(t)
	r, raw := open(t, server.URL)
	p := publish(t, server)
	p.hears(`register ok \d+`)
	s := snapshot(t, r)
	require.Len(t, s.Nodes, 1)
	assert.Empty(t, s.Broken)
	n := s.Nodes[0]
	assert.Equal(t, cluster.Active, n.Report.Status)
	assert.InDelta(t, float64(s.Time), float64(n.Pulse), 10_000)
	assert.Equal(t, "https://n7.example.com", n.Endpoint)
	assert.InDelta(t, cluster.DefaultWeight, n.Weight, 0)

	require.NoError(t, raw.ZAdd(t.Context(), prefix+":pulses", redis.Z{Score: 5, Member: "n7"}).Err())
	p.say("")
	p.hears(`pulse ok \d+`)
	assert.Greater(t, snapshot(t, r).Nodes[0].Pulse, cluster.Millis(5))

	p.say("paused")
	p.hears(`report ok \d+`)
	assert.True(t, snapshot(t, r).Nodes[0].IsPaused())

	require.NoError(t, raw.FlushAll(t.Context()).Err())
	p.say("")
	p.hears(`pulse register \d+`)
	p.hears(`register ok \d+`)
	assert.True(t, snapshot(t, r).Nodes[0].IsPaused(), "it heals the registry with what it last said")

	require.NoError(t, p.in.Close())
	p.hears(`leave ok \d+`)
	require.NoError(t, p.cmd.Wait())
	assert.Empty(t, snapshot(t, r).Nodes)
}

func TestTheExampleEndsWhenANewerStartHasItsID(t *testing.T) {
	server := redistest.Start(t)
	r, _ := open(t, server.URL)
	p := publish(t, server)
	p.hears(`register ok \d+`)
	d := snapshot(t, r).Nodes[0].Descriptor
	d.Generation, d.Version = "", "2"
	_, _, err := r.Register(t.Context(), d, cluster.Report{Status: cluster.Active})
	require.NoError(t, err)
	p.say("")
	p.hears(`pulse superseded \d+`)
	var exit *exec.ExitError
	require.ErrorAs(t, p.cmd.Wait(), &exit)
	assert.Equal(t, 1, exit.ExitCode())
}
