package gate

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// reporter is a caller that reports.
func reporter(s *Socket, lines ...string) *caller {
	c := call(s)
	go func() { _, _ = io.WriteString(c, greeting+strings.Join(lines, "")) }()
	synctest.Wait()
	return c
}

func line(id string, f cluster.Figures) string {
	return fmt.Sprintf(`{"id":%q,"inflight":%d,"arrivals":%d,"last_arrival_ms":%d,"gap_ms":%d,"sessions":%d,"seen_epoch":%d,"load":%g,"paused":true,"later":[]}`+"\n",
		id, f.InFlight, f.Arrivals, f.LastArrival, f.Gap, f.Sessions, f.SeenEpoch, f.Load)
}

func TestReportsAreMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSocket(SocketConfig{})
		a := reporter(s, line("a", cluster.Figures{InFlight: 2, Arrivals: 10, LastArrival: 500, Gap: 1000, Sessions: 3, SeenEpoch: 8, Load: 0.5}))
		reporter(s, line("b", cluster.Figures{InFlight: 1, Arrivals: 5, LastArrival: 900, Gap: 1000, Sessions: 1, SeenEpoch: 7}))
		want := cluster.Figures{InFlight: 3, Arrivals: 15, LastArrival: 900, Gap: 500, Sessions: 4, SeenEpoch: 7, Load: 1.5} // b's is what it has in flight
		assert.Equal(t, want, s.Figures(), "and nobody counts a reporter as a request")
		assert.Equal(t, 2, s.Reporters())

		require.NoError(t, a.Close())
		synctest.Wait()
		assert.Equal(t, 1, s.Reporters())
		assert.Equal(t, want, s.Figures(), "who has just gone may come back")
		pass(linger)
		want.InFlight, want.Sessions, want.Gap, want.Load = 1, 1, 1000, 1
		assert.Equal(t, want, s.Figures(), "arrivals never go back")
		require.NoError(t, s.Close())
	})
}

// A process that stands still with its connection open may go on any moment with what
// nobody knows of: nobody is told that it obeys a pause.
func TestAReporterThatHangsIsNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSocket(SocketConfig{})
		a := reporter(s, line("a", cluster.Figures{InFlight: 2, SeenEpoch: 8}))
		pass(silence)
		assert.EqualValues(t, 8, s.Figures().SeenEpoch)
		pass(time.Millisecond)
		assert.EqualValues(t, noEpoch, s.Figures().SeenEpoch)
		assert.EqualValues(t, 2, s.Figures().InFlight)
		_, err := io.WriteString(a, line("a", cluster.Figures{SeenEpoch: 9}))
		require.NoError(t, err)
		synctest.Wait()
		assert.EqualValues(t, 9, s.Figures().SeenEpoch, "until it goes on")
		require.NoError(t, s.Close())
	})
}

func TestArrivalsNeitherRepeatNorGoBack(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines [][]string // of one connection after the other
		want  int64
	}{
		{"a reporter that comes back is known", [][]string{{line("a", cluster.Figures{Arrivals: 10})}, {line("a", cluster.Figures{Arrivals: 12})}}, 12},
		{"one that began anew counts from there", [][]string{{line("a", cluster.Figures{Arrivals: 10})}, {line("a", cluster.Figures{Arrivals: 2})}}, 12},
		{"two are two", [][]string{{line("a", cluster.Figures{Arrivals: 10})}, {line("b", cluster.Figures{Arrivals: 10})}}, 20},
		{"one without an id counts from its first line on", [][]string{
			{line("", cluster.Figures{Arrivals: 10}), line("", cluster.Figures{Arrivals: 11})},
			{line("", cluster.Figures{Arrivals: 12}), line("", cluster.Figures{Arrivals: 14})},
		}, 3},
		{"no number below zero counts", [][]string{{line("a", cluster.Figures{Arrivals: -5, InFlight: -3})}}, 0},
		{"none out of form either", [][]string{{line("a", cluster.Figures{Arrivals: 4}), "[]\n", line("a", cluster.Figures{Arrivals: 9})}}, 4},
		{"none that is too long", [][]string{{line(strings.Repeat("a", mostLine), cluster.Figures{Arrivals: 4})}}, 0},
		{"none that breaks off", [][]string{{strings.TrimSuffix(line("a", cluster.Figures{Arrivals: 4}), "\n")}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSocket(SocketConfig{})
				for _, lines := range c.lines {
					_ = reporter(s, lines...).Close()
					synctest.Wait()
				}
				f := s.Figures()
				assert.Equal(t, c.want, f.Arrivals)
				assert.Zero(t, f.InFlight)
				require.NoError(t, s.Close())
			})
		})
	}
}

func TestAReporterIsHeardThoughTheHouseIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSocket(SocketConfig{MaxHeld: 1})
		s.Pause()
		calls(s, 2)
		reporter(s, line("a", cluster.Figures{InFlight: 4}))
		pass(time.Second)
		f := s.Figures()
		assert.EqualValues(t, 4, f.InFlight)
		assert.EqualValues(t, 2, f.Arrivals)
		assert.EqualValues(t, 1, f.SeenEpoch, "it acts on no epoch that somebody waits for")
		require.NoError(t, s.Close())
	})
}

func TestReportersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSocket(SocketConfig{})
		var first *caller
		for i := range mostAccounts + 1 {
			c := reporter(s, line(fmt.Sprint(i), cluster.Figures{InFlight: 1, Arrivals: 1}))
			if i == 0 {
				first = c
			}
		}
		assert.Equal(t, mostAccounts, s.Reporters())
		_ = first.Close()
		pass(linger)
		reporter(s, line("late", cluster.Figures{InFlight: 1, Arrivals: 1}))
		assert.Equal(t, mostAccounts, s.Reporters(), "one that has gone makes room")
		assert.EqualValues(t, mostAccounts+1, s.Figures().Arrivals)
		require.NoError(t, s.Close())
	})
}

func TestAReporterOfAVersionToComeIsNoRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSocket(SocketConfig{})
		before := s.Figures()
		c := call(s)
		_, err := io.WriteString(c, "GATE 2\n")
		require.NoError(t, err)
		synctest.Wait()
		assert.NotZero(t, c.over())
		assert.Equal(t, before, s.Figures())
		require.NoError(t, s.Close())
	})
}

func TestAGateReportsAndComesBack(t *testing.T) {
	w := newWorld(t, "n1", "n2")
	s, path := listening(t, SocketConfig{})
	g, h := w.guarded(func(c *Config) { c.Report = path })
	go g.Run(t.Context())
	seen := func(s *Socket, want int64) {
		t.Helper()
		require.Eventually(t, func() bool { return s.Figures().Arrivals == want && s.Figures().SeenEpoch == 1 }, 20*time.Second, time.Millisecond)
	}
	ask(h, "GET", "/")
	seen(s, 1)
	assert.Equal(t, 1, s.Reporters())
	require.NoError(t, s.Close())
	ask(h, "GET", "/")
	s, err := Listen(path, SocketConfig{})
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	seen(s, 2)
	assert.InDelta(t, time.Now().Add(ahead).UnixMilli(), int64(s.Figures().LastArrival), 60_000)
}

// FuzzPeer has a connection send anything in the middle of a pause and a resume.
func FuzzPeer(f *testing.F) {
	for _, text := range []string{
		"", "\n", greeting, "GATE 2\n", "GATE 1\r\n", greeting + "{}\n", greeting + "{}\n{\n",
		greeting + `{"arrivals":9223372036854775807,"inflight":1e300}` + "\n", greeting + `{"id":1}` + "\n",
		greeting + line("a", cluster.Figures{InFlight: 1 << 62, Gap: -1}),
		greeting + line("a", cluster.Figures{Arrivals: 1 << 62, InFlight: 1 << 62, Gap: 1 << 62, SeenEpoch: -1}) + line("a", cluster.Figures{}),
		strings.Repeat("x", mostLine+1) + "\n" + greeting,
	} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, paused bool) {
		s := newSocket(SocketConfig{HoldMax: time.Minute})
		s.Set(paused)
		ours, theirs := net.Pipe()
		s.serving.Go(func() { s.serve(theirs) })
		go func() { _, _ = io.Copy(io.Discard, ours) }()
		_, _ = io.WriteString(ours, text)
		s.Set(!paused)
		f := s.Figures()
		for _, n := range []int64{f.InFlight, f.Arrivals, f.Sessions, f.SeenEpoch, int64(f.Gap), int64(f.LastArrival)} {
			assert.GreaterOrEqual(t, n, int64(0))
			assert.LessOrEqual(t, n, int64(mostCount)+1)
		}
		_ = ours.Close()
		require.NoError(t, s.Close())
		assert.Zero(t, s.counter.inFlight.Load())
		assert.Empty(t, s.peers)
	})
}
