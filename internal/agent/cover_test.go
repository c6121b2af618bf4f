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

var (
	n1    = cluster.NodeTarget("n1")
	blue  = cluster.GroupTarget("blue")
	green = cluster.GroupTarget("green")
)

func inContext(path string) cluster.Target {
	return cluster.Target{Kind: cluster.ContextKind, ID: "n1", Path: path}
}

func TestANodeIsToldEachNewCoverWithinASecond(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name string
		do   func(s *stage) // at 0.3 s, takes a few seconds
		want []cluster.Mode // empty for none
	}{
		{"a pause of itself and its end", func(s *stage) {
			s.registry.pause(n1, cluster.Redirect, 0)
			pass(time.Second)
			s.registry.resume(n1)
		}, []cluster.Mode{cluster.Redirect, ""}},
		{"one of its group in between", func(s *stage) {
			s.registry.pause(n1, cluster.Drain, 0)
			pass(time.Second)
			s.registry.pause(blue, cluster.Stop, 0)
			pass(time.Second)
			s.registry.resume(blue)
		}, []cluster.Mode{cluster.Drain, cluster.Stop, cluster.Drain}},
		{"one of another group", func(s *stage) { s.registry.pause(green, cluster.Stop, 0) }, nil},
		{"one of its only context", func(s *stage) { s.registry.pause(inContext("/"), cluster.Hold, 0) }, []cluster.Mode{cluster.Hold}},
		{"one of a context that it does not serve", func(s *stage) { s.registry.pause(inContext("/shop"), cluster.Stop, 0) }, nil},
		{"its own pause and resume", func(s *stage) {
			_ = s.agent.Pause(ctx, "deploy")
			pass(time.Second)
			_ = s.agent.Resume(ctx)
		}, []cluster.Mode{cluster.Redirect, ""}},
		{"its own under a milder and a harsher one", func(s *stage) {
			s.registry.pause(blue, cluster.Hold, 0)
			pass(time.Second)
			_ = s.agent.Pause(ctx, "deploy")
			pass(time.Second)
			s.registry.pause(blue, cluster.Stop, 0)
			pass(time.Second)
			_ = s.agent.Resume(ctx)
		}, []cluster.Mode{cluster.Hold, cluster.Redirect, cluster.Stop}},
		{"a report that is no pause", func(s *stage) { _ = s.agent.SetStatus(ctx, cluster.Overloaded, "queue") }, nil},
		{"the same pause again is a new one", func(s *stage) {
			s.registry.pause(n1, cluster.Redirect, 0)
			pass(time.Second)
			s.registry.pause(n1, cluster.Redirect, 0)
		}, []cluster.Mode{cluster.Redirect, cluster.Redirect}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, newFake())
				s.run()
				pass(300 * time.Millisecond)
				c.do(s)
				pass(time.Second)
				var modes []cluster.Mode
				for _, c := range s.told() {
					modes = append(modes, c.Mode)
					assert.Equal(t, c.Mode != "", c.Paused)
				}
				assert.Equal(t, c.want, modes)
			})
		})
	}
}

func TestAPauseOfOneOfSeveralContextsIsNotOneOfTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, newFake(), func(c *agent.Config) { c.Descriptor.Contexts = []string{"/", "/shop"} })
		s.run()
		s.registry.pause(inContext("/shop"), cluster.Stop, 0)
		pass(2 * time.Second)
		assert.Empty(t, s.told())
	})
}

func TestACoverSaysWhoAndWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.pause(blue, cluster.Redirect, time.Hour)
		s := newStage(t, f)
		s.run()
		require.Len(t, s.told(), 1, "a node that starts under a pause is told at once")
		assert.Equal(t, agent.Cover{Paused: true, On: blue, Pause: f.pauses[blue]}, s.told()[0])

		f.resume(blue)
		require.NoError(t, s.agent.Pause(t.Context(), "SIGTERM"))
		pass(time.Second)
		require.Len(t, s.told(), 2)
		assert.Equal(t, agent.Cover{
			Paused: true, On: n1,
			Pause: cluster.Pause{Mode: cluster.Redirect, Reason: "SIGTERM", By: "n1"},
		}, s.told()[1])
	})
}

func TestATimedPauseEndsByTheRegistrysClock(t *testing.T) {
	for name, c := range map[string]struct {
		then func(*fake)
		ends time.Duration // within a second from here
	}{
		"in time":                             {func(*fake) {}, 10 * time.Second},
		"though the registry is lost":         {func(f *fake) { f.breaks(refuse) }, 10 * time.Second},
		"later, after its clock stepped back": {func(f *fake) { f.step(-5 * time.Second) }, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, newFake())
				s.run()
				s.registry.pause(n1, cluster.Redirect, 10*time.Second)
				pass(2 * time.Second)
				require.Len(t, s.told(), 1)
				c.then(s.registry)
				pass(20 * time.Second)
				require.Len(t, s.told(), 2)
				assert.Equal(t, agent.Cover{}, s.told()[1])
				assert.GreaterOrEqual(t, s.changed[1], c.ends)
				assert.LessOrEqual(t, s.changed[1], c.ends+time.Second)
			})
		})
	}
}

func TestFiguresAreWrittenTwiceASecondWhileSomebodyMayWait(t *testing.T) {
	for _, target := range []cluster.Target{n1, blue, cluster.All, inContext("/"), inContext("/shop")} {
		t.Run(target.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				s := newStage(t, f, func(c *agent.Config) { c.PulseEvery, c.Descriptor.Contexts = time.Minute, []string{"/", "/shop"} })
				s.run()
				pass(5300 * time.Millisecond)
				f.pause(target, cluster.Drain, 0)
				pass(time.Second)
				assert.Equal(t, f.current(), f.node("n1").Figures.SeenEpoch, "that the node obeys is known within a second")
				pass(2 * time.Second)
				assert.Equal(t, seconds(6, 6.5, 7, 7.5, 8), f.times("pulse", 5*time.Second))
				f.resume(target)
				pass(30 * time.Second)
				assert.Equal(t, seconds(8.5), f.times("pulse", 8100*time.Millisecond), "and no more after the resume")
			})
		})
	}
}

// Whoever waits for a pause must not be told that it is obeyed while a gate that
// looks for itself has not seen it yet.
func TestTheEpochSeenIsTheLowest(t *testing.T) {
	for name, row := range map[string]struct {
		gates int64 // epochs behind or before the agent's own; zero: no gate looks for itself
		want  int64
	}{
		"no gate looks for itself": {0, 0},
		"one is behind":            {-2, -2},
		"all are before the agent": {3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				s := newStage(t, f, func(c *agent.Config) {
					c.Figures = func() cluster.Figures {
						if row.gates == 0 {
							return cluster.Figures{}
						}
						return cluster.Figures{SeenEpoch: f.current() + row.gates}
					}
				})
				s.run()
				pass(10 * time.Second)
				assert.Equal(t, f.current()+row.want, f.node("n1").Figures.SeenEpoch)
			})
		})
	}
}
