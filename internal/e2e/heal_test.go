package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/pkg/cluster"
)

// loss is a way to lose what a registry holds: all of it, or what came after a
// mark. Nodes reach the registry through the proxy.
type loss struct {
	mark, lose func(t *testing.T, primary, successor *redistest.Server, p *proxy)
}

var losses = map[string]loss{
	"flushed": {
		lose: func(t *testing.T, primary, _ *redistest.Server, _ *proxy) {
			require.NoError(t, rawClient(t, primary.Addr).FlushAll(t.Context()).Err())
		},
	},
	"restarted empty": {
		lose: func(_ *testing.T, primary, _ *redistest.Server, _ *proxy) {
			primary.Kill()
			primary.Restart()
		},
	},
	"failed over to a replica that lacks the last writes": {
		mark: func(_ *testing.T, primary, successor *redistest.Server, _ *proxy) {
			successor.Follow(primary)
			successor.DemoteToNobody()
		},
		lose: func(_ *testing.T, primary, successor *redistest.Server, p *proxy) {
			primary.Kill()
			successor.Promote()
			p.leadTo(successor.Addr)
			p.cut()
		},
	},
	"rolled back to a dump": {
		mark: func(t *testing.T, primary, _ *redistest.Server, _ *proxy) {
			require.NoError(t, rawClient(t, primary.Addr).Save(t.Context()).Err())
		},
		lose: func(_ *testing.T, primary, _ *redistest.Server, _ *proxy) { primary.Restart() },
	},
}

// However the registry lost what it knew, within two pulses every living node is
// back in it as it was, its own pause included, and so is what operators had
// paused, but not what they had resumed.
func TestLivingNodesHealARegistryThatWas(t *testing.T) {
	t.Parallel() // it is a matter of waiting
	for name, l := range losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l.heal(t)
		})
	}
}

func (l loss) heal(t *testing.T) {
	primary, successor := redistest.Start(t), redistest.Start(t)
	p := startProxy(t, primary.Addr)
	r, log := openRegistry(t, "redis://"+p.addr), &journal{}
	resumed, kept := cluster.GroupTarget("blue"), cluster.NodeTarget("n2")

	n1 := startAgent(t, r, "n1", "blue", "http://n1.example.com", nil, log)
	startAgent(t, r, "n2", "blue", "http://n2.example.com", nil, log)
	_, err := r.Pause(t.Context(), resumed, cluster.PauseRequest{By: "ops"})
	require.NoError(t, err)
	eventually(t, r, obeyed)
	_, _, err = r.Resume(t.Context(), resumed, "ops", "")
	require.NoError(t, err)
	if l.mark != nil {
		l.mark(t, primary, successor, p)
	}

	startAgent(t, r, "n3", "blue", "http://n3.example.com", nil, log)
	require.NoError(t, n1.Pause(t.Context(), "deploy"))
	_, err = r.Pause(t.Context(), kept, cluster.PauseRequest{Mode: cluster.Drain, By: "ops", Reason: "disk"})
	require.NoError(t, err)
	before := eventually(t, r, obeyed)

	l.lose(t, primary, successor, p)
	lost := time.Now()
	after := eventually(t, r, func(s *cluster.Snapshot) bool {
		return len(s.Nodes) == 3 && s.Nodes[0].IsPaused() && s.Pauses[kept] != cluster.Pause{}
	})
	took := time.Since(lost)
	assert.Less(t, took, 2*pulseEvery+2*time.Second, "two pulses, and patience for a busy machine")
	assert.Contains(t, log.String(), "registry had lost a pause, written back", "nor is it kept quiet")

	after = eventually(t, r, func(s *cluster.Snapshot) bool { return s.Epoch >= after.Epoch && obeyed(s) })
	for i, n := range after.Nodes {
		assert.Equal(t, before.Nodes[i].Descriptor, n.Descriptor, "the same life")
		assert.Equal(t, before.Nodes[i].Report, n.Report)
	}
	assert.Greater(t, after.Epoch, before.Epoch, "no epoch comes back")
	assert.NotContains(t, after.Pauses, resumed)
	was, is := before.Pauses[kept], after.Pauses[kept]
	was.Epoch, is.Epoch = 0, 0
	assert.Equal(t, was, is)
	t.Logf("healed after %s", took)
}
