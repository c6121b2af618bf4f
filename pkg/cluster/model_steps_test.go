package cluster_test

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// process is one that was started as a node; it may not know that it is no more.
type process struct {
	cluster.Descriptor
	left bool
}

// outcomes are all that has to happen in a play.
var outcomes = []string{
	"register ok", "register " + cluster.ErrLeft.Error(), "register " + cluster.ErrSuperseded.Error(),
	"pulse ok", "pulse " + cluster.ErrUnknown.Error(), "pulse " + cluster.ErrLeft.Error(), "pulse " + cluster.ErrSuperseded.Error(),
	"report ok", "report " + cluster.ErrSuperseded.Error(), "leave ok", "leave " + cluster.ErrSuperseded.Error(),
	"same start", "late pulse", "pruned", "not pruned", "fenced", "held", "ended", "forgotten", "mended",
	"resumed", "not paused", "re-asserted", "not re-asserted", "group changed", "group conflict", "group removed",
}

// play takes steps, and compares after each.
func (s *stage) play(steps int) {
	s.pass(0)
	for _, id := range []string{"n1", "n2", "n3"} {
		for range map[string]int{"n1": 10, "n2": 2, "n3": 1}[id] {
			d := node(id)
			d.Generation = "0000000000001-a" // a life that nobody knows
			s.processes = append(s.processes, &process{Descriptor: d})
		}
	}
	weighted := []struct {
		weight int
		name   string
		step   func()
	}{
		{10, "start", s.start},
		{6, "heal", s.heal},
		{20, "pulse", s.pulse},
		{8, "report", s.report},
		{6, "leave", s.leave},
		{8, "read", s.look},
		{5, "lease", s.lease},
		{8, "prune", s.prune},
		{4, "stamp", s.stamp},
		{3, "tidy", s.tidy},
		{2, "forget", s.forget},
		{3, "mend", s.mend},
		{6, "pause", s.pause},
		{5, "resume", s.resume},
		{5, "re-assert", s.reassert},
		{4, "group", s.group},
		{12, "clock", s.clock},
		{3, "loss", s.lose},
		{1, "flush", s.flush},
	}
	total := 0
	for _, w := range weighted {
		total += w.weight
	}
	for range steps {
		pick := s.random.IntN(total)
		for _, w := range weighted {
			if pick -= w.weight; pick < 0 {
				s.note("step " + w.name)
				w.step()
				break
			}
		}
		s.compare()
	}
}

// note counts what happened, and keeps it for the one who looks for a fault.
func (s *stage) note(what string) {
	s.seen[what]++
	s.trace = append(s.trace, fmt.Sprintf("%d: %s", s.model.now%1_000_000_000, what))
}

// String is what a failure tells: the last that happened.
func (s *stage) String() string {
	return fmt.Sprintf("after:\n%q", s.trace[max(0, len(s.trace)-40):])
}

// answered holds an answer against the model's.
func (s *stage) answered(what string, want, got error) {
	s.t.Helper()
	require.ErrorIs(s.t, got, want, s)
	if want == nil {
		require.NoError(s.t, got, s)
		s.note(what + " ok")
		return
	}
	s.note(what + " " + want.Error())
}

// compare holds all that the registry tells against the model.
func (s *stage) compare() {
	s.t.Helper()
	m := s.model
	is := snapshot(s.t, s.r)
	require.Equal(s.t, m.epoch, is.Epoch, s)
	require.Equal(s.t, m.now, is.Time)
	require.Equal(s.t, m.whole(), append([]cluster.Node(nil), is.Nodes...), s)
	require.Equal(s.t, m.pauses, is.Pauses, s)
	require.Equal(s.t, m.groups, is.Groups, s)
	require.Len(s.t, is.Broken, len(m.nodes)-len(is.Nodes), s)
	stones := make(map[string]string)
	for id, stone := range m.left {
		stones[id] = fmt.Sprintf("%s %d", stone.generation, stone.until)
	}
	require.Equal(s.t, stones, s.raw.HGetAll(s.t.Context(), prefix+":left").Val(), s)
	if is.Epoch != 0 && is.Epoch != s.highest {
		require.Greater(s.t, is.Epoch, s.highest, "no value returns: %v", s)
		s.highest = is.Epoch
	}
}

func (s *stage) any() *process { return s.processes[s.random.IntN(len(s.processes))] }

func (s *stage) status() cluster.Status {
	return []cluster.Status{cluster.Starting, cluster.Active, cluster.Active, cluster.Paused}[s.random.IntN(4)]
}

func (s *stage) target() cluster.Target {
	return []cluster.Target{cluster.All, cluster.GroupTarget("blue"), cluster.NodeTarget("n1"), {Kind: cluster.ContextKind, ID: "n1", Path: "/shop"}}[s.random.IntN(4)]
}

// start lets a process begin anew, perhaps as the one before it.
func (s *stage) start() {
	p, m := s.any(), s.model
	d := node(p.ID)
	d.Version = []string{"1", "2"}[s.random.IntN(2)]
	old, status := m.nodes[p.ID], s.status()
	got, _, err := s.r.Register(s.t.Context(), d, cluster.Report{Status: status})
	require.NoError(s.t, err, s)
	if old != nil && old.Version == d.Version {
		require.Equal(s.t, old.Descriptor, got, s)
		s.note("same start")
	} else {
		require.True(s.t, m.left[p.ID].generation.Less(got.Generation), s)
		require.True(s.t, old == nil || old.Generation.Less(got.Generation), s)
		require.Equal(s.t, m.now, got.Started)
	}
	s.answered("start", m.register(got, status), err)
	p.Descriptor, p.left = got, false
}

// heal lets a process register as the life that it is.
func (s *stage) heal() {
	p, status := s.any(), s.status()
	_, _, err := s.r.Register(s.t.Context(), p.Descriptor, cluster.Report{Status: status})
	s.answered("register", s.model.register(p.Descriptor, status), err)
}

func (s *stage) pulse() {
	p := s.any()
	if p.left {
		s.note("late pulse")
	}
	var f *cluster.Figures
	if s.random.IntN(2) == 0 {
		f = &cluster.Figures{Load: float64(s.random.IntN(100)) / 8, InFlight: s.random.Int64N(9), Arrivals: s.random.Int64N(1e12), SeenEpoch: s.model.epoch}
	}
	e, err := s.r.Pulse(s.t.Context(), p.ID, p.Generation, f)
	s.answered("pulse", s.model.pulse(p.ID, p.Generation, f), err)
	if err == nil {
		require.Equal(s.t, s.model.epoch, e)
	}
}

func (s *stage) report() {
	p := s.any()
	rep := cluster.Report{Generation: p.Generation, Status: s.status()}
	e, err := s.r.Report(s.t.Context(), p.ID, rep)
	s.answered("report", s.model.report(p.ID, rep), err)
	if err == nil {
		require.Equal(s.t, s.model.epoch, e)
	}
}

func (s *stage) leave() {
	p := s.any()
	_, err := s.r.Leave(s.t.Context(), p.ID, p.Generation)
	s.answered("leave", s.model.leave(p.ID, p.Generation), err)
	p.left = err == nil
}

func (s *stage) pass(d time.Duration) {
	s.model.now = s.model.now.Add(d)
	s.server.SetTime(s.model.now.Time())
	if d > 0 {
		s.model.passed += d
		s.server.FastForward(d)
	}
}

// lose takes something from the registry that no script takes, or leaves half of
// something there.
func (s *stage) lose() {
	ctx, id := s.t.Context(), s.any().ID
	n := s.model.nodes[id]
	switch s.random.IntN(3) {
	case 0:
		for t := range s.model.pauses {
			require.NoError(s.t, s.raw.HDel(ctx, prefix+":pauses", t.String()).Err())
		}
		clear(s.model.pauses)
	case 1:
		if n != nil {
			require.NoError(s.t, s.raw.ZRem(ctx, prefix+":pulses", id).Err())
			n.pulse = 0
		}
	default:
		if n == nil {
			require.NoError(s.t, s.raw.ZAdd(ctx, prefix+":pulses", redis.Z{Score: 1000, Member: id}).Err())
			require.NoError(s.t, s.raw.HSet(ctx, prefix+":figures", id, `{"sessions":7}`).Err())
			s.model.strays[id] = true
		}
	}
}

// flush empties the registry, as a restart does. Its clock has passed the last
// epoch by then.
func (s *stage) flush() {
	s.pass(time.Second + time.Duration(max(0, s.highest-int64(s.model.now)))*time.Millisecond)
	require.NoError(s.t, s.raw.FlushDB(s.t.Context()).Err())
	s.model = newModel(s.model.now)
	s.read, s.leases = nil, nil
}
