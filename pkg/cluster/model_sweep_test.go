package cluster_test

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// look is a sweeper's reading, which others come after.
func (s *stage) look() { s.read = snapshot(s.t, s.r) }

func (s *stage) lease() {
	token := []string{"a", "b"}[s.random.IntN(2)]
	l, err := s.r.AcquireLease(s.t.Context(), token, 10*time.Second)
	fence, want := s.model.lease(token, 10*time.Second)
	s.answered("lease", want, err)
	if errors.Is(want, cluster.ErrHeld) {
		s.note("held")
		return
	}
	require.Equal(s.t, cluster.Lease{Token: token, Fence: fence}, l)
	s.leases = append(s.leases, l)
}

// sweeper returns a lease that was once had, the newest one most often, and
// whether its fence is out of date.
func (s *stage) sweeper() (l cluster.Lease, fenced bool) {
	if len(s.leases) > 0 {
		back := 1
		if s.random.IntN(5) == 0 {
			back += s.random.IntN(len(s.leases))
		}
		l = s.leases[len(s.leases)-back]
	}
	return l, l.Fence < s.model.fence
}

// sweeps lets a sweeper do something, which the model does if it is not fenced.
func (s *stage) sweeps(do func(l cluster.Lease) ([]string, error), model func() []string) []string {
	s.t.Helper()
	l, fenced := s.sweeper()
	got, err := do(l)
	if fenced {
		require.ErrorIs(s.t, err, cluster.ErrFenced, s)
		s.note("fenced")
		return nil
	}
	require.NoError(s.t, err, s)
	require.ElementsMatch(s.t, model(), got, s)
	return got
}

// some returns a part of the nodes that were read last.
func (s *stage) some() (nodes []cluster.Node) {
	if s.read == nil {
		return nil
	}
	for _, n := range s.read.Nodes {
		if s.random.IntN(3) > 0 {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

func (s *stage) prune() {
	nodes := s.some()
	if len(nodes) == 0 {
		return
	}
	before := len(s.model.nodes)
	gone := s.sweeps(
		func(l cluster.Lease) ([]string, error) { return s.r.Prune(s.t.Context(), l, nodes) },
		func() []string { return s.model.prune(nodes) })
	if len(gone) > 0 {
		s.note("pruned")
	} else if before > 0 {
		s.note("not pruned")
	}
}

func (s *stage) stamp() {
	nodes := s.some()
	if len(nodes) == 0 {
		return
	}
	s.sweeps(
		func(l cluster.Lease) ([]string, error) { return nil, s.r.Stamp(s.t.Context(), l, nodes) },
		func() []string { s.model.stamp(nodes); return nil })
}

func (s *stage) tidy() {
	targets := slices.Collect(maps.Keys(s.model.pauses))
	ended := s.sweeps(
		func(l cluster.Lease) ([]string, error) {
			return s.r.Tidy(s.t.Context(), l, cluster.SweepNotes{At: s.model.now}, targets)
		},
		func() []string { return s.model.tidy(targets) })
	if len(ended) > 0 {
		s.note("ended")
	}
}

func (s *stage) forget() {
	// With no tombstone past its time nothing is sent, so no fence is asked.
	due := slices.ContainsFunc(slices.Collect(maps.Values(s.model.left)), func(x stone) bool { return x.until <= s.model.now })
	if !due {
		return
	}
	s.sweeps(func(l cluster.Lease) ([]string, error) { return s.r.Forget(s.t.Context(), l) }, s.model.forget)
	s.note("forgotten")
}

func (s *stage) mend() {
	whole := len(s.model.whole()) == len(s.model.nodes)
	if whole && len(s.model.strays) == 0 {
		return
	}
	s.sweeps(
		func(l cluster.Lease) ([]string, error) { return s.r.Mend(s.t.Context(), l, snapshot(s.t, s.r)) },
		s.model.mend)
	s.note("mended")
}
