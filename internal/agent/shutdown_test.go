package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/agent"
	"github.com/detourhq/detour/pkg/cluster"
)

func TestShutdownPausesWaitsAndLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := newStage(t, f, func(c *agent.Config) {
			c.PulseEvery = 2 * time.Second
			c.Grace = 3100 * time.Millisecond
			c.Figures = nil
		})
		s.run()
		pass(time.Second)
		down := make(chan error, 1)
		go func() { down <- s.agent.Shutdown(t.Context(), "SIGTERM") }()
		pass(time.Millisecond)
		assert.Equal(t, cluster.Paused, f.node("n1").Report.Status)
		assert.Equal(t, "SIGTERM", f.node("n1").Report.Reason)
		require.NoError(t, <-down)
		require.NoError(t, <-s.ended, "Run ends with the leave")
		assert.Equal(t, seconds(4.1), f.times("leave", 0), "not before the grace is over")
		pass(time.Minute)
		assert.Equal(t, []string{"register", "pulse", "report paused", "pulse", "pulse", "pulse", "leave"}, f.names())
		require.ErrorIs(t, s.agent.Pause(t.Context(), "late"), cluster.ErrLeft)
		require.NoError(t, s.agent.Leave(t.Context()))
	})
}

func TestShutdownWaitsUntilTheNodeIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		quiet := make(chan struct{})
		s := newStage(t, f, func(c *agent.Config) {
			c.Quiet = func(context.Context) error {
				assert.Equal(t, cluster.Paused, f.node("n1").Report.Status, "the pause was acknowledged before")
				<-quiet
				return nil
			}
		})
		s.run()
		down := make(chan error, 1)
		go func() { down <- s.agent.Shutdown(t.Context(), "SIGTERM") }()
		pass(time.Minute)
		assert.Empty(t, down)
		close(quiet)
		require.NoError(t, <-down)
		assert.Len(t, f.times("leave", time.Minute), 1)
	})
}

func TestANodeThatIsNeverQuietStillLeaves(t *testing.T) {
	errBusy := errors.New("busy")
	for name, quiet := range map[string]func(context.Context) error{
		"it waits on":         nil,
		"its own wait failed": func(context.Context) error { return errBusy },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				s := newStage(t, f, func(c *agent.Config) { c.Quiet, c.Grace = quiet, time.Hour })
				s.run()
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				err := s.agent.Shutdown(ctx, "SIGTERM")
				require.Error(t, err)
				if quiet == nil {
					require.ErrorIs(t, err, context.DeadlineExceeded)
					assert.Equal(t, 28*time.Second, time.Since(f.born), "the leave has the time of one call")
				} else {
					require.ErrorIs(t, err, errBusy)
				}
				assert.Empty(t, f.node("n1").ID)
				require.NoError(t, <-s.ended)
			})
		})
	}
}

func TestShutdownGivesUpOnALostRegistryInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := newStage(t, f, func(c *agent.Config) {
			c.Quiet = func(context.Context) error {
				t.Error("nothing was acknowledged, nothing to wait for")
				return nil
			}
		})
		s.run()
		f.breaks(refuse)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		err := s.agent.Shutdown(ctx, "SIGTERM")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, errRefused)
		assert.Equal(t, 30*time.Second, time.Since(f.born))
		assert.Equal(t, 1, s.logged("level=WARN"))
	})
}

func TestALeaveIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := newStage(t, f)
		s.run()
		f.breaks(refuse)
		left := make(chan error, 1)
		go func() { left <- s.agent.Leave(t.Context()) }()
		pass(time.Minute)
		assert.Empty(t, left)
		f.breaks(nil)
		require.NoError(t, <-left)
		assert.Empty(t, f.node("n1").ID)
	})
}

func TestWhoLeftIsNotBroughtBackByAFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := newStage(t, f)
		s.run()
		f.flush()
		require.NoError(t, s.agent.Leave(t.Context()), "not to be known is to have left")
		require.NoError(t, <-s.ended)
		pass(time.Minute)
		assert.Empty(t, f.node("n1").ID)
	})
}
