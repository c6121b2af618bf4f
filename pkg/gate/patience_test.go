package gate

import (
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// caller is a program's end of a connection to a socket, in a bubble.
type caller struct {
	net.Conn
	heard, ended atomic.Pointer[time.Time]
}

// went returns when it heard the byte, over when the connection ended; zero before
// that.
func (c *caller) went() time.Time { return at(&c.heard) }

func (c *caller) over() time.Time { return at(&c.ended) }

func at(p *atomic.Pointer[time.Time]) time.Time {
	if t := p.Load(); t != nil {
		return *t
	}
	return time.Time{}
}

func stamp(p *atomic.Pointer[time.Time]) {
	now := time.Now()
	p.Store(&now)
}

// call connects to s as accept would have it.
func call(s *Socket) *caller {
	ours, theirs := net.Pipe()
	c := &caller{Conn: ours}
	s.serving.Go(func() { s.serve(theirs) })
	go func() {
		if _, err := io.ReadFull(ours, make([]byte, 1)); err == nil {
			stamp(&c.heard)
			_, _ = ours.Read(make([]byte, 1))
		}
		stamp(&c.ended)
	}()
	synctest.Wait()
	return c
}

func calls(s *Socket, n int) (cs []*caller) {
	for range n {
		cs = append(cs, call(s))
	}
	return cs
}

func TestPatienceAtTheSocketEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSocket(SocketConfig{HoldMax: 2 * time.Second, MaxHeld: 3})
		s.Pause()
		began := time.Now()
		cs := calls(s, 5)
		pass(time.Second)
		for i, c := range cs {
			if i < 3 {
				assert.Zero(t, c.over(), "it waits")
			} else {
				assert.Equal(t, greetWithin, c.over().Sub(began), "it found no place")
			}
		}
		pass(time.Minute)
		for i, c := range cs {
			assert.Zero(t, c.went())
			if i < 3 {
				assert.Equal(t, 2*time.Second, c.over().Sub(began))
			}
		}
		assert.Zero(t, s.Figures().InFlight)
		assert.EqualValues(t, 5, s.Figures().Arrivals)
		assert.Empty(t, s.peers)
		require.NoError(t, s.Close())
	})
}

func TestWhoWaitedIsLetInOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSocket(SocketConfig{HoldMax: 8 * time.Second, MaxHeld: 100})
		s.Pause()
		cs := calls(s, 50)
		began := time.Now()
		s.Resume()
		pass(100 * time.Millisecond)
		late := call(s)
		assert.Equal(t, time.Now(), late.went(), "who comes now does not queue")
		assert.EqualValues(t, 7, s.Figures().InFlight, "not all at once (haproxy/haproxy#2744)")
		pass(time.Second)
		for i, c := range cs {
			assert.Equal(t, time.Duration(i)*20*time.Millisecond, c.went().Sub(began))
		}
		assert.EqualValues(t, 51, s.Figures().InFlight)
		require.NoError(t, s.Close())
		assert.Zero(t, s.Figures().InFlight)
	})
}

// lame is a connection that takes its time.
type lame struct {
	net.Conn
	takes time.Duration
}

func (l lame) Write(b []byte) (int, error) {
	time.Sleep(l.takes)
	return l.Conn.Write(b)
}

func TestAReleaseTakesNoLongerForWhatEachOfThemCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSocket(SocketConfig{HoldMax: 8 * time.Second, MaxHeld: 100})
		s.Pause()
		for range 100 {
			ours, theirs := net.Pipe()
			s.serving.Go(func() { s.serve(lame{theirs, 19 * time.Millisecond}) })
			go func() { _, _ = io.ReadFull(ours, make([]byte, 1)) }()
		}
		synctest.Wait()
		s.Resume()
		pass(2 * time.Second)
		assert.EqualValues(t, 100, s.Figures().InFlight)
		require.NoError(t, s.Close())
	})
}

func TestAPauseInTheMiddleOfAReleaseHoldsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSocket(SocketConfig{HoldMax: 8 * time.Second, MaxHeld: 100})
		s.Pause()
		calls(s, 50)
		s.Resume()
		pass(190 * time.Millisecond)
		s.Pause()
		pass(time.Second)
		assert.EqualValues(t, 10, s.Figures().InFlight)
		s.Resume()
		s.Pause()
		s.Resume()
		pass(100 * time.Millisecond)
		assert.EqualValues(t, 16, s.Figures().InFlight, "one release at a time")
		pass(time.Second)
		assert.EqualValues(t, 50, s.Figures().InFlight)
		require.NoError(t, s.Close())
	})
}

func TestWhoseTurnIsNearIsNotRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSocket(SocketConfig{HoldMax: 4 * time.Second, MaxHeld: 10})
		s.Pause()
		cs := calls(s, 10)
		pass(3900 * time.Millisecond)
		s.Resume()
		pass(time.Second)
		for _, c := range cs {
			assert.NotZero(t, c.went())
		}
		assert.EqualValues(t, 10, s.Figures().InFlight)
		require.NoError(t, s.Close())
	})
}

// Whatever happens in whatever order, no count is ever below zero, nobody is let in
// while the gate is paused, and in the end nobody is left.
func TestCountsHoldInAnyOrder(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			s := newSocket(SocketConfig{HoldMax: time.Second, MaxHeld: 5, MaxAge: 3 * time.Second})
			var cs []*caller
			var arrivals int64
			for range 300 {
				before := s.Figures()
				paused := s.paused
				switch n := r.IntN(10); {
				case n < 4:
					cs = append(cs, call(s))
					arrivals++
				case n < 7 && len(cs) > 0:
					_ = cs[r.IntN(len(cs))].Close()
				case n == 7:
					s.Set(r.IntN(2) == 0)
				case n == 8:
					reporting := call(s)
					go func() { _, _ = io.WriteString(reporting, greeting+`{"inflight":2,"arrivals":3}`+"\n") }()
					cs = append(cs, reporting)
				default:
					pass(time.Duration(r.IntN(500)) * time.Millisecond)
				}
				synctest.Wait()
				f := s.Figures()
				assert.GreaterOrEqual(t, f.InFlight, int64(0))
				assert.GreaterOrEqual(t, f.Arrivals, before.Arrivals)
				assert.Equal(t, arrivals, f.Arrivals, "a reporter without an id begins where it stands")
				if paused && s.paused {
					assert.LessOrEqual(t, s.counter.Figures(time.Now()).InFlight, before.InFlight)
				}
				assert.LessOrEqual(t, len(s.held), 5)
			}
			for _, c := range cs {
				_ = c.Close()
			}
			synctest.Wait()
			assert.Zero(t, s.counter.inFlight.Load())
			assert.Empty(t, s.held)
			assert.Empty(t, s.peers)
			assert.Zero(t, s.Reporters())
			pass(linger)
			assert.Zero(t, s.Figures().InFlight)
			require.NoError(t, s.Close())
		})
	}
}
