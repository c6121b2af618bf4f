package cluster_test

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func (s *stage) pause() {
	t, p := s.target(), cluster.PauseRequest{Mode: cluster.Redirect, By: "ops"}
	if s.random.IntN(2) == 0 {
		p.Mode, p.For = cluster.Drain, time.Duration(1+s.random.IntN(60))*time.Second
	}
	got, err := s.r.Pause(s.t.Context(), t, p)
	require.NoError(s.t, err)
	want := cluster.Pause{Mode: p.Mode, By: p.By, Since: s.model.now}
	if p.For > 0 {
		want.Until = s.model.now.Add(p.For)
	}
	s.model.pause(t, want)
	require.Equal(s.t, s.model.pauses[t], got, s)
	s.asked[t] = got
}

func (s *stage) resume() {
	t := s.target()
	e, was, err := s.r.Resume(s.t.Context(), t, "ops", "")
	require.NoError(s.t, err)
	require.Equal(s.t, s.model.resume(t), was, s)
	require.Equal(s.t, s.model.epoch, e)
	s.note(map[bool]string{true: "resumed", false: "not paused"}[was])
}

// reassert lets an agent write back the pause that it saw last.
func (s *stage) reassert() {
	t := s.target()
	p, ok := s.asked[t]
	if !ok {
		return
	}
	written, err := s.r.Reassert(s.t.Context(), t, p, "n1")
	require.NoError(s.t, err)
	require.Equal(s.t, s.model.reassert(t, p), written, s)
	s.note(map[bool]string{true: "re-asserted", false: "not re-asserted"}[written])
	if written {
		s.asked[t] = s.model.pauses[t]
	}
}

// group changes a group, perhaps while someone else does, or removes it.
func (s *stage) group() {
	id := []string{"blue", "green"}[s.random.IntN(2)]
	if s.random.IntN(4) == 0 {
		_, had := s.model.groups[id]
		was, err := s.r.RemoveGroup(s.t.Context(), id)
		require.NoError(s.t, err)
		require.Equal(s.t, had, was, s)
		if was {
			delete(s.model.groups, id)
			s.model.rise()
			s.note("group removed")
		}
		return
	}
	meanwhile, title := s.random.IntN(5), string(rune('a'+s.random.IntN(3)))
	tries := 0
	got, err := s.r.ChangeGroup(s.t.Context(), id, func(g *cluster.Group) error {
		if tries++; tries <= meanwhile {
			s.meanwhile(id)
		}
		g.Title = title
		return nil
	})
	if meanwhile >= 3 {
		require.ErrorIs(s.t, err, cluster.ErrConflict, s)
		s.note("group conflict")
		return
	}
	require.NoError(s.t, err, s)
	want := s.model.groups[id]
	want.ID, want.Title = id, title
	require.Equal(s.t, want, got, "both changes are kept: %v", s)
	s.model.group(want)
	s.note("group changed")
}

// meanwhile changes another field of the group than group does.
func (s *stage) meanwhile(id string) {
	other := func(g *cluster.Group) error { g.Service += "x"; return nil }
	g, err := s.r.ChangeGroup(s.t.Context(), id, other)
	require.NoError(s.t, err)
	s.model.group(g)
}

// clock moves time: a little, for as long as a tombstone lasts, or back, but not
// in a registry that was emptied: it goes by its clock alone.
func (s *stage) clock() {
	switch pick := s.random.IntN(10); {
	case pick == 0:
		s.pass(10 * time.Minute)
	case pick == 1 && s.model.epoch != 0:
		s.pass(-time.Duration(s.random.IntN(5000)) * time.Millisecond)
	default:
		s.pass(time.Duration(s.random.IntN(8000)) * time.Millisecond)
	}
}
