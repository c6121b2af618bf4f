package agent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/agent"
	"github.com/detourhq/detour/pkg/cluster"
)

func TestAFlushedRegistryHasTheNodeBackWithinTwoPulses(t *testing.T) {
	for name, others := range map[string]func(*fake){
		"nobody else":                   func(*fake) {},
		"somebody who came back before": func(f *fake) { f.change(func() {}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				s := newStage(t, f)
				s.run()
				pass(7 * time.Second)
				require.NoError(t, s.agent.Pause(t.Context(), "deploy"))
				pass(time.Second)
				before := f.node("n1")
				f.flush()
				others(f)
				pass(10 * time.Second)
				after := f.node("n1")
				assert.Equal(t, before.Descriptor, after.Descriptor, "the same life, started when it started")
				assert.Equal(t, before.Report, after.Report, "its own pause is kept")
				assert.Equal(t, f.current(), after.Figures.SeenEpoch)
				assert.Len(t, s.told(), 1, "the node noticed nothing")
				assert.Zero(t, s.logged("registry fails"), "a registry that answers is none that fails")
			})
		})
	}
}

func TestARestoredRegistryHearsThePauseAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := newStage(t, f)
		s.run()
		dump := f.node("n1")
		pass(time.Second)
		require.NoError(t, s.agent.Pause(t.Context(), "deploy"))
		pass(time.Second)
		f.change(func() { f.nodes["n1"] = dump })
		pass(time.Second)
		assert.Equal(t, cluster.Paused, f.node("n1").Report.Status)
		assert.Equal(t, "deploy", f.node("n1").Report.Reason)
	})
}

func TestLostPausesThatReachTheNodeAreWrittenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := newStage(t, f)
		s.run()
		shop := cluster.Target{Kind: cluster.ContextKind, ID: "n1", Path: "/shop"}
		reach := []cluster.Target{cluster.All, cluster.GroupTarget("blue"), cluster.NodeTarget("n1"), shop}
		for _, target := range reach {
			f.pause(target, cluster.Drain, 0)
		}
		f.pause(cluster.NodeTarget("n2"), cluster.Redirect, 0)
		pass(2 * time.Second)
		told := len(s.told())
		f.flush()
		pass(10 * time.Second)
		for _, target := range reach {
			assert.Equal(t, "ops", f.on(target).By, target)
		}
		assert.Zero(t, f.on(cluster.NodeTarget("n2")), "that is for n2 to do")
		assert.Equal(t, 4, s.logged("written back"))
		assert.Equal(t, cluster.Drain, s.told()[told-1].Mode)
		for _, c := range s.told()[told:] {
			assert.True(t, c.Paused, "the node is never told that it was resumed")
		}
	})
}

func TestAPauseThatIsOverIsNotWrittenBack(t *testing.T) {
	for name, over := range map[string]func(f *fake){
		"resumed":                     func(f *fake) { f.resume(cluster.GroupTarget("blue")) },
		"ended by its time, and tidy": func(f *fake) { pass(3 * time.Second); f.change(func() { clear(f.pauses) }) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				s := newStage(t, f)
				s.run()
				f.pause(cluster.GroupTarget("blue"), cluster.Redirect, 3*time.Second)
				pass(2 * time.Second)
				over(f)
				pass(10 * time.Second)
				assert.Zero(t, f.on(cluster.GroupTarget("blue")))
				assert.False(t, s.told()[len(s.told())-1].Paused)
				assert.Zero(t, s.logged("written back"))
			})
		})
	}
}

func TestAPauseIsWrittenBackThoughTheFirstTryFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := newStage(t, f)
		s.run()
		f.pause(cluster.All, cluster.Redirect, 0)
		pass(2 * time.Second)
		f.flush()
		f.breaks(func(_ context.Context, name string) error {
			if name == "reassert all" {
				return errRefused
			}
			return nil
		})
		pass(10 * time.Second)
		assert.Zero(t, f.on(cluster.All))
		f.breaks(nil)
		pass(2 * time.Second)
		assert.Equal(t, "ops", f.on(cluster.All).By)
	})
}

func TestAnOutageIsLoggedOnceAndSoIsItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := newStage(t, f, func(c *agent.Config) { c.PulseEvery = 45 * time.Second })
		s.run()
		for range 2 {
			warned, healed := s.logged("level=WARN"), s.logged("registry answers again")
			f.breaks(hang)
			pass(time.Minute)
			assert.Equal(t, warned+1, s.logged("level=WARN"))
			assert.Equal(t, healed, s.logged("registry answers again"))

			f.breaks(nil)
			back := time.Since(f.born)
			pass(3 * time.Second) // one call's time limit, and a look
			assert.NotEmpty(t, f.times("pulse", back), "it does not wait for its interval")
			assert.Equal(t, warned+1, s.logged("level=WARN"))
			assert.Equal(t, healed+1, s.logged("registry answers again"))
		}
		assert.Empty(t, s.ended)
	})
}

func TestAnEndInTheMiddleOfACallIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := newStage(t, f)
		s.run()
		f.breaks(hang)
		pass(1500 * time.Millisecond)
		s.stop()
		require.NoError(t, <-s.ended)
		assert.Zero(t, s.logged("registry fails"))
	})
}

func TestAPauseIsToldUntilTheRegistryHasIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := newStage(t, f)
		s.run()
		f.breaks(hang)
		paused := make(chan error, 1)
		go func() { paused <- s.agent.Pause(t.Context(), "deploy") }()
		synctest.Wait()
		require.Len(t, s.told(), 1, "the node obeys itself at once")
		f.breaks(refuse)
		pass(30 * time.Second)
		assert.Empty(t, paused, "but what is not acknowledged is not done")
		f.breaks(nil)
		pass(2 * time.Second)
		require.NoError(t, <-paused)
		assert.Equal(t, cluster.Paused, f.node("n1").Report.Status)

		require.NoError(t, s.agent.Resume(t.Context()))
		assert.Equal(t, cluster.Report{Generation: f.node("n1").Generation, Status: cluster.Active}, f.node("n1").Report)
	})
}

func TestAPauseThatGaveUpIsToldLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := newStage(t, f)
		s.run()
		f.breaks(refuse)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		err := s.agent.Pause(ctx, "deploy")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, errRefused)
		f.breaks(nil)
		pass(time.Second)
		assert.Equal(t, cluster.Paused, f.node("n1").Report.Status)
	})
}

// A registration that is under way with the old report must not land after a
// pause was acknowledged.
func TestAHealingAgentDoesNotUndoAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := newStage(t, f)
		s.run()
		f.flush()
		slow := time.Second // the first registration, not the next
		f.breaks(func(_ context.Context, name string) error {
			if name == "register" {
				d := slow
				slow = 0
				time.Sleep(d)
			}
			return nil
		})
		pass(1500 * time.Millisecond) // the registration is under way
		require.Empty(t, f.node("n1").ID)
		require.NoError(t, s.agent.Pause(t.Context(), "deploy"))
		require.Equal(t, cluster.Paused, f.node("n1").Report.Status)
		acknowledged := time.Since(f.born)
		pass(10 * time.Second)
		assert.Equal(t, cluster.Paused, f.node("n1").Report.Status)
		assert.Empty(t, f.times("register", acknowledged+1))
	})
}

func TestTheLastWordStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := newStage(t, f, func(c *agent.Config) { c.Figures = nil })
		s.run()
		f.breaks(func(_ context.Context, name string) error {
			if name == "report paused" {
				time.Sleep(time.Second)
			}
			return nil
		})
		paused := make(chan error, 1)
		go func() { paused <- s.agent.Pause(t.Context(), "deploy") }()
		synctest.Wait()
		require.NoError(t, s.agent.SetStatus(t.Context(), cluster.Overloaded, "queue"))
		require.NoError(t, <-paused)
		pass(10 * time.Second)
		assert.Equal(t, cluster.Overloaded, f.node("n1").Report.Status)
		assert.Equal(t, "queue", f.node("n1").Report.Reason)
	})
}
