package selection

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

const clients = 1000

// homes returns the node of each of the clients.
func homes(t *testing.T, s *cluster.Snapshot) [clients]string {
	t.Helper()
	table := NewTable(s, now, config(Rendezvous))
	var ids [clients]string
	for i := range ids {
		n, outcome := table.Pick(Query{Key: fmt.Sprintf("client-%d", i)}, now, nil)
		require.Equal(t, Picked, outcome)
		ids[i] = n.ID
	}
	return ids
}

func randomFleet(rnd *rand.Rand) *cluster.Snapshot {
	s := nodes()
	for i := range 3 + rnd.IntN(10) {
		s.Nodes = append(s.Nodes, well(fmt.Sprintf("n%d", i), "g", weight(1+9*rnd.Float64())))
	}
	return s
}

func TestRendezvousMovesOnlyTheLeaversKeys(t *testing.T) {
	rnd := seeded(t)
	for range 10 {
		s := randomFleet(rnd)
		before := homes(t, s)
		leaver := rnd.IntN(len(s.Nodes))
		id := s.Nodes[leaver].ID
		if rnd.IntN(2) == 0 {
			s.Nodes[leaver].Report.Status = cluster.Paused
		} else {
			s.Nodes = append(s.Nodes[:leaver:leaver], s.Nodes[leaver+1:]...)
		}
		for i, after := range homes(t, s) {
			if before[i] == id {
				assert.NotEqual(t, id, after)
			} else {
				assert.Equal(t, before[i], after)
			}
		}
	}
}

func TestRendezvousGivesAJoinerKeysAndMovesNoOthers(t *testing.T) {
	rnd := seeded(t)
	for range 10 {
		s := randomFleet(rnd)
		before := homes(t, s)
		s.Nodes = append(s.Nodes, well("joiner", "g", weight(3)))
		taken := 0
		for i, after := range homes(t, s) {
			if after == "joiner" {
				taken++
			} else {
				assert.Equal(t, before[i], after)
			}
		}
		assert.NotZero(t, taken)
	}
}

func TestRendezvousWithMoreWeightOnlyTakes(t *testing.T) {
	rnd := seeded(t)
	s := randomFleet(rnd)
	before := homes(t, s)
	s.Nodes[0].Weight *= 2
	for i, after := range homes(t, s) {
		if after != s.Nodes[0].ID {
			assert.Equal(t, before[i], after)
		}
	}
}

func TestRendezvousDependsOnNeitherOrderNorFadeIn(t *testing.T) {
	rnd := seeded(t)
	s := randomFleet(rnd)
	before := homes(t, s)
	rnd.Shuffle(len(s.Nodes), func(i, j int) { s.Nodes[i], s.Nodes[j] = s.Nodes[j], s.Nodes[i] })
	s.Nodes[0].Started = now
	assert.Equal(t, before, homes(t, s))
}

// The answers come from another implementation of the same formula: a copy of any
// version must give them.
func TestRendezvousAnswersNeverChange(t *testing.T) {
	s := nodes(well("n1", "g"), well("n2", "g"), well("n3", "g"), well("n4", "g", weight(200)))
	table := NewTable(s, now, config(Rendezvous))
	for key, want := range map[string]string{
		"192.0.2.10":  "n4",
		"192.0.2.30":  "n4",
		"192.0.2.50":  "n4",
		"192.0.2.70":  "n1",
		"192.0.2.90":  "n1",
		"192.0.2.110": "n1",
		"192.0.2.130": "n4",
		"192.0.2.150": "n3",
		"192.0.2.170": "n4",
		"192.0.2.190": "n4",
		"192.0.2.210": "n2",
		"192.0.2.230": "n3",
	} {
		assert.Equal(t, want, picked(table.Pick(Query{Key: key}, now, nil)), key)
	}
	assert.Equal(t, uint64(0xe220a8397b1dcdaf), mix(0), "the first number of SplitMix64 from 0")
}

func TestRendezvousWithoutAKeySharesOutByWeight(t *testing.T) {
	rnd := seeded(t)
	table := NewTable(nodes(well("a", "g", weight(3)), well("b", "g", weight(1))), now, config(Rendezvous))
	counts := map[string]int{}
	for range samples {
		counts[picked(table.Pick(Query{}, now, rnd))]++
	}
	assertShares(t, map[string]float64{"a": 3, "b": 1}, counts)
}
