package sweep

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

const (
	tick       = every / 2
	fleetSize  = 24
	sweepsEach = 120
)

// process is a node of the model: what is true of it, whatever the registry says.
type process struct {
	id         string
	lives      bool
	every      int // ticks from pulse to pulse, if it lives
	phase      int
	heard      cluster.Millis // its last pulse that got through
	comesBack  int            // tick of its next start, if it does not live; 0 for never
	mayGo      int            // sweeps that could have pruned it
	registered bool
}

func (p *process) tolerance() time.Duration {
	return max(timeout, 3*time.Duration(p.every)*tick)
}

// model is a fleet of processes that die, restart and pause, and a network that
// is cut for all of them at times, sometimes for the sweeper too.
type model struct {
	*world
	random   *rand.Rand
	fleet    []*process
	cutUntil int // tick until which no pulse gets through
	blind    bool
	withheld cluster.Millis // when a sweep last withheld pruning
}

func (m *model) start(p *process, now int) {
	p.lives, p.phase, p.heard, p.mayGo, p.registered = true, now%p.every, m.now(), 0, true
	m.registerAs(cluster.Descriptor{ID: p.id, PulseMS: (time.Duration(p.every) * tick).Milliseconds()})
}

// live lets one tick happen to the fleet.
func (m *model) live(now int) {
	cut := now < m.cutUntil
	var pulses []redis.Z
	for _, p := range m.fleet {
		switch {
		case !p.lives && p.comesBack == now && !cut:
			m.start(p, now)
		case !p.lives && p.comesBack == now:
			p.comesBack++
		case p.lives && m.random.IntN(150) == 0:
			p.lives, p.comesBack = false, 0
			if m.random.IntN(3) > 0 {
				p.comesBack = now + 1 + m.random.IntN(60)
			}
		case p.lives && !cut && m.random.IntN(60) == 0:
			m.report(p)
		}
		if p.lives && !cut && now%p.every == p.phase {
			p.heard = m.now()
			pulses = append(pulses, redis.Z{Score: float64(p.heard), Member: p.id})
		}
	}
	if len(pulses) > 0 {
		require.NoError(m.t, m.raw.ZAdd(m.t.Context(), prefix+":pulses", pulses...).Err())
	}
	if now >= m.cutUntil+60 && m.random.IntN(40) == 0 { // at least five minutes apart
		m.cutUntil, m.blind = now+1+m.random.IntN(56), m.random.IntN(2) == 0
	}
}

func (m *model) report(p *process) {
	status := []cluster.Status{cluster.Active, cluster.Paused}[m.random.IntN(2)]
	_, err := m.registry.Report(m.t.Context(), p.id, cluster.Report{Generation: m.nodes[p.id].Generation, Status: status})
	require.NoError(m.t, err, "%s lives and is not registered any more", p.id)
}

// check sweeps and holds what was pruned against what is true.
func (m *model) check(seed, now int) (pruned int) {
	r := m.sweep(usual)
	most := max(1, r.Nodes*15/100)
	require.LessOrEqual(m.t, r.Pruned, most)
	gone := make(map[string]bool)
	for _, id := range r.PrunedIDs {
		gone[id] = true
	}
	if r.Withheld != "" {
		m.withheld = m.now()
		require.Empty(m.t, gone)
	}
	for _, p := range m.fleet {
		silent := m.now().Sub(p.heard)
		if gone[p.id] {
			require.False(m.t, p.lives, "seed %d tick %d: %s lives", seed, now, p.id)
			require.Greater(m.t, silent, p.tolerance()+after)
			p.registered = false
		}
		if p.lives || !p.registered || silent <= p.tolerance()+after || m.now() < m.withheld.Add(p.tolerance()) {
			continue
		}
		require.Equal(m.t, most, r.Pruned, "seed %d tick %d: %s could be pruned", seed, now, p.id)
		p.mayGo++
		require.LessOrEqual(m.t, p.mayGo, fleetSize/most+1, "seed %d tick %d: %s stays", seed, now, p.id)
	}
	return r.Pruned
}

// No living node is ever pruned, however the network breaks for less than thirty
// sweeps; no silent one stays for longer than the cap makes it wait.
func TestNobodyLivingIsPrunedAndNobodySilentStays(t *testing.T) {
	for seed := range 2 {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			m := &model{world: newWorld(t), random: rand.New(rand.NewPCG(uint64(seed), 0))}
			for i := range fleetSize {
				p := &process{id: fmt.Sprintf("n%02d", i), every: []int{1, 1, 4}[i%3]}
				m.fleet = append(m.fleet, p)
				m.start(p, 0)
			}
			pruned := 0
			for now := 1; now <= 2*sweepsEach; now++ {
				m.pass(tick)
				m.live(now)
				if now%2 == 0 && (!m.blind || now >= m.cutUntil) {
					pruned += m.check(seed, now)
				}
			}
			assert.Greater(t, pruned, 5, "the model prunes at all")
		})
	}
}
