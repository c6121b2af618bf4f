package agent_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/agent"
	"github.com/detourhq/detour/pkg/cluster"
)

// stage is one node with its agent, on a fake registry, in a bubble.
type stage struct {
	t        *testing.T
	registry *fake
	agent    *agent.Agent
	log      bytes.Buffer
	ended    chan error // Run's result
	stop     context.CancelFunc

	mu      sync.Mutex // guards the following
	covers  []agent.Cover
	changed []time.Duration // when each of covers was told, since the registry was born
}

func descriptor(id string) cluster.Descriptor {
	return cluster.Descriptor{ID: id, Group: "blue", Endpoint: "https://" + id + ".example.com", Weight: 100}
}

// newStage returns a stage whose agent has not started; prepare may change its
// configuration.
func newStage(t *testing.T, f *fake, prepare ...func(*agent.Config)) *stage {
	s := &stage{t: t, registry: f, ended: make(chan error, 1)}
	c := agent.Config{
		Descriptor: descriptor("n1"), PulseEvery: 5 * time.Second, Timeout: 2 * time.Second,
		Figures:  func() cluster.Figures { return cluster.Figures{InFlight: 3} },
		OnChange: s.change,
		Log:      slog.New(slog.NewTextHandler(&s.log, nil)),
	}
	for _, p := range prepare {
		p(&c)
	}
	s.agent = agent.New(f, c)
	return s
}

func (s *stage) change(c agent.Cover) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.covers = append(s.covers, c)
	s.changed = append(s.changed, time.Since(s.registry.born))
}

// told returns what OnChange was told.
func (s *stage) told() []agent.Cover {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.covers)
}

// run starts the agent and runs it until the test ends or stop is called.
func (s *stage) run() {
	s.t.Helper()
	require.NoError(s.t, s.agent.Start(s.t.Context()))
	ctx, cancel := context.WithCancel(s.t.Context())
	s.stop = cancel
	s.t.Cleanup(cancel)
	go func() { s.ended <- s.agent.Run(ctx) }()
	synctest.Wait()
}

// pass lets d go by.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (s *stage) logged(message string) int { return strings.Count(s.log.String(), message) }

func seconds(n ...float64) (ds []time.Duration) {
	for _, n := range n {
		ds = append(ds, time.Duration(math.Round(n*1000))*time.Millisecond)
	}
	return ds
}

func TestANodePulsesAtItsInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, newFake())
		s.run()
		pass(20 * time.Second)
		assert.Equal(t, seconds(0, 5, 10, 15, 20), s.registry.times("pulse", 0))
		assert.Len(t, s.registry.times("register", 0), 1)
		assert.Empty(t, s.told(), "a node that nothing covers is told nothing")

		n := s.registry.node("n1")
		assert.Equal(t, cluster.Active, n.Report.Status)
		assert.EqualValues(t, 5000, n.PulseMS)
		assert.EqualValues(t, 3, n.Figures.InFlight)
		assert.Equal(t, s.registry.current(), n.Figures.SeenEpoch)
		assert.Equal(t, cluster.Millis(s.registry.born.UnixMilli()), n.Started)

		s.stop()
		require.NoError(t, <-s.ended)
		assert.NotEmpty(t, s.registry.node("n1").ID, "an end without a leave leaves the node")
	})
}

func TestDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := newStage(t, f, func(c *agent.Config) { *c = agent.Config{Descriptor: descriptor("n1")} })
		s.run()
		f.pause(cluster.NodeTarget("n1"), cluster.Redirect, 0)
		pass(12 * time.Second)
		assert.Equal(t, seconds(0, 5, 10), f.times("pulse", 0), "who publishes no figures has no more to say while paused")
		assert.Nil(t, f.node("n1").Figures)
	})
}

func TestALoadThatIsNoNumberCostsNoPulse(t *testing.T) {
	for load, want := range map[float64]float64{math.NaN(): 0, math.Inf(1): math.MaxFloat64, math.Inf(-1): -math.MaxFloat64, 0.5: 0.5} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, newFake(), func(c *agent.Config) {
				c.Figures = func() cluster.Figures { return cluster.Figures{Load: load} }
			})
			s.run()
			assert.Equal(t, want, s.registry.node("n1").Figures.Load)
		})
	}
}

func TestStartOutlastsARegistryThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.breaks(refuse)
		s := newStage(t, f, func(c *agent.Config) { c.Status = cluster.Starting })
		started := make(chan error, 1)
		go func() { started <- s.agent.Start(t.Context()) }()
		pass(time.Minute)
		assert.Empty(t, started)
		f.breaks(nil)
		pass(2 * time.Second)
		require.NoError(t, <-started)
		assert.Equal(t, cluster.Starting, f.node("n1").Report.Status)
		assert.Equal(t, 1, s.logged("registry fails"))
		assert.Equal(t, 1, s.logged("registry answers again"))
	})
}

func TestStartEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.breaks(refuse)
		s := newStage(t, f)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		err := s.agent.Start(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, errRefused, "and the error says why")
		assert.Equal(t, 3*time.Second, time.Since(f.born))

		f.breaks(nil)
		require.Error(t, s.agent.Pause(t.Context(), "SIGTERM"))
		require.Error(t, s.agent.Leave(t.Context()))
		require.Error(t, s.agent.Shutdown(t.Context(), "SIGTERM"))
		require.Error(t, s.agent.Run(t.Context()))
		assert.Empty(t, f.names(), "who never started says nothing")
	})
}

func TestANodeOutOfFormDoesNotStart(t *testing.T) {
	f := newFake()
	s := newStage(t, f, func(c *agent.Config) { c.Descriptor.Endpoint = "n1" })
	require.ErrorIs(t, s.agent.Start(t.Context()), cluster.ErrInvalid)

	f.breaks(func(context.Context, string) error { return cluster.ErrInvalid })
	require.ErrorIs(t, newStage(t, f).agent.Start(t.Context()), cluster.ErrInvalid, "nor one that the registry refuses")
	assert.Empty(t, f.calls)
}

func TestARegistrationWhoseAnswerWasLostIsTheSameStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		a := agent.New(&losing{fake: f}, agent.Config{Descriptor: descriptor("n1")})
		started := make(chan error, 1)
		go func() { started <- a.Start(t.Context()) }()
		synctest.Wait() // between the tries
		first := f.node("n1").Generation
		require.NotEmpty(t, first)
		require.NoError(t, <-started)
		assert.Equal(t, first, f.node("n1").Generation)
		assert.Len(t, f.times("register", 0), 2)
	})
}

func TestANewStartEndsTheOldOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		old := newStage(t, f)
		old.run()
		before := f.node("n1").Generation
		f.step(-time.Hour) // as after a failover to a slow clock
		next := newStage(t, f)
		next.run()
		assert.True(t, before.Less(f.node("n1").Generation), "the same descriptor is a new start all the same")
		pass(5 * time.Second)
		require.ErrorIs(t, <-old.ended, cluster.ErrSuperseded)
		require.ErrorIs(t, old.agent.Pause(t.Context(), "late"), cluster.ErrSuperseded)
		require.NoError(t, old.agent.Leave(t.Context()), "it has left already")
		assert.Equal(t, cluster.Active, f.node("n1").Report.Status)
		assert.Empty(t, next.ended)
	})
}

func TestANodeThatWasMadeToLeaveEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := newStage(t, f)
		s.run()
		_, err := f.Leave(t.Context(), "n1", f.node("n1").Generation)
		require.NoError(t, err)
		pass(time.Second)
		require.NoError(t, <-s.ended)
		assert.Empty(t, f.node("n1").ID, "and does not come back")
	})
}

// losing loses the answer of the first registration.
type losing struct {
	*fake
	lost bool
}

func (l *losing) Register(ctx context.Context, d cluster.Descriptor, rep cluster.Report) (cluster.Descriptor, int64, error) {
	d, epoch, err := l.fake.Register(ctx, d, rep)
	if !l.lost {
		l.lost, err = true, errors.New("connection reset")
	}
	return d, epoch, err
}
