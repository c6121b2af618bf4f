package awsevents

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// fleet is a world with a node for each event, and one of another group.
func fleet(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	for id, target := range map[string]string{
		"n1": "i-0aaaaaaaaaaaaaaa1", "n2": "i-0aaaaaaaaaaaaaaa2", "n3": "i-0aaaaaaaaaaaaaaa3", "n4": "i-0aaaaaaaaaaaaaaa4",
		"n5": "i-0aaaaaaaaaaaaaaa5", "n6": "i-0aaaaaaaaaaaaaaa6", "ip": "192.0.2.21",
	} {
		w.register(id, "blue", target, "")
	}
	w.register("task", "blue", "192.0.2.99", taskARN)
	w.register("next", "blue", "192.0.2.21", "arn:aws:ecs:eu-central-1:123456789012:task/shop/next")
	w.register("g1", "green", "i-0bbbbbbbbbbbbbbb1", "")
	w.sources("blue", "asg:web", "ecs:shop/web", "codedeploy:shop/canary")
	return w
}

func TestEachEventPausesWhatItIsAbout(t *testing.T) {
	w := fleet(t)
	for _, c := range []struct {
		events []string
		want   map[string]string
	}{
		{[]string{"terminate"}, map[string]string{"node:n1": "drain by aws:terminate"}},
		{[]string{"notification"}, map[string]string{"node:n1": "drain by aws:terminate"}},
		{[]string{"launch"}, map[string]string{}},
		{[]string{"spot"}, map[string]string{"node:n2": "drain by aws:spot"}},
		{[]string{"spot-hibernate"}, map[string]string{"node:n3": "redirect by aws:spot"}},
		{[]string{"rebalance"}, map[string]string{"node:n4": "drain by aws:rebalance"}},
		{[]string{"state-stopping"}, map[string]string{"node:n5": "redirect by aws:state"}},
		{[]string{"state-running"}, map[string]string{}},
		{[]string{"state-stopping", "state-running"}, map[string]string{}},
		{[]string{"state-running", "state-stopping"}, map[string]string{}},
		{[]string{"task-running"}, map[string]string{}},
		{[]string{"task-stopped"}, map[string]string{"node:ip": "drain by aws:task", "node:task": "drain by aws:task"}},
		{[]string{"task-stopped", "task-running"}, map[string]string{"node:ip": "drain by aws:task", "node:task": "drain by aws:task"}},
		{[]string{"ecs-deployment-started"}, map[string]string{"group:blue": "drain by aws:ecs-deployment"}},
		{[]string{"ecs-deployment-started", "ecs-deployment-completed"}, map[string]string{}},
		{[]string{"ecs-deployment-completed", "ecs-deployment-started"}, map[string]string{}},
		{[]string{"codedeploy-start"}, map[string]string{"group:blue": "drain by aws:codedeploy"}},
		{[]string{"codedeploy-success", "codedeploy-start"}, map[string]string{}},
		{[]string{"ecs-deployment-started", "codedeploy-start", "codedeploy-success"}, map[string]string{"group:blue": "drain by aws:ecs-deployment"}},
		{[]string{"codedeploy-instance-start"}, map[string]string{"node:n6": "redirect by aws:codedeploy-instance"}},
		{[]string{"codedeploy-instance-start", "codedeploy-instance-failure"}, map[string]string{}},
		{[]string{"codedeploy-hook"}, map[string]string{}},
		{[]string{"notification-test"}, map[string]string{}},
	} {
		s := inMemory(w)
		for _, name := range c.events {
			for range 2 {
				_, err := s.handler.Handle(t.Context(), load(t, name))
				require.NoError(t, err)
			}
		}
		assert.Equal(t, c.want, modes(s.ending(t).pauses), c.events)
		s.sweep(t)
		assert.Equal(t, c.want, modes(s.ending(t).pauses), "after a sweep: %v", c.events)
	}
}

func TestATestNotificationIsIgnored(t *testing.T) {
	w := fleet(t)
	before := w.server.Dump()
	assert.Equal(t, Answer{Kind: Test, Outcome: Ignored}, w.event("notification-test"))
	assert.Equal(t, before, w.server.Dump())
}

func TestAnEventIsHandledOnce(t *testing.T) {
	w := fleet(t)
	w.event("spot")
	before := w.server.Dump()
	assert.Equal(t, Answer{Kind: Spot, Outcome: Known}, w.event("spot"))
	assert.Equal(t, before, w.server.Dump())
	w.pass(24 * time.Hour)
	assert.NotEqual(t, Known, w.event("spot").Outcome, "but is remembered for a day only")
}

func TestAnEventWhoseHandlingWasCutOffIsHandledAgain(t *testing.T) {
	w := fleet(t)
	w.server.SetError("LOADING")
	_, err := w.handler.Handle(t.Context(), load(t, "spot"))
	require.Error(t, err)
	w.server.SetError("")
	assert.Equal(t, []string{"node:n2"}, w.event("spot").Paused)
}

// keikoproj/lifecycle-manager#65
func TestASpotEventCompletesNoLifecycleAction(t *testing.T) {
	w := fleet(t)
	w.event("spot")
	w.quiet("n2", 0, 0)
	for range 4 {
		w.sweep()
		w.pass(10 * time.Minute)
	}
	assert.Zero(t, w.aws.calls)
	assert.Empty(t, w.paused(), "a node that lives on is believed to stay")
}

func TestAnUnknownTargetIsKeptForANodeThatRegistersLate(t *testing.T) {
	for _, c := range []struct {
		name   string
		after  time.Duration
		paused bool
	}{
		{"within 15 minutes it starts paused", 15*time.Minute - time.Millisecond, true},
		{"after them it does not", 15 * time.Minute, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.register("n1", "blue", "i-0aaaaaaaaaaaaaaa1", "")
			assert.Equal(t, Answer{Kind: Spot, Outcome: Kept}, w.event("spot"))
			w.pass(c.after)
			w.sweep()
			assert.Empty(t, w.paused())
			assert.Len(t, w.snapshot().Nodes, 1, "nobody is pruned")
			w.register("n2", "blue", "i-0aaaaaaaaaaaaaaa2", "")
			w.sweep()
			_, paused := w.paused()["node:n2"]
			assert.Equal(t, c.paused, paused)
			assert.Len(t, w.work(), map[bool]int{true: 1, false: 0}[c.paused])
		})
	}
}

func TestWhatOthersAskForStays(t *testing.T) {
	w := fleet(t)
	target := cluster.NodeTarget("n2")
	theirs, err := w.registry.Pause(t.Context(), target, cluster.PauseRequest{Mode: cluster.Hold, By: "ops"})
	require.NoError(t, err)
	w.event("spot")
	w.sweep()
	assert.Equal(t, theirs, w.snapshot().Pauses[target])
	w.pass(time.Hour)
	w.sweep()
	assert.Equal(t, theirs, w.snapshot().Pauses[target], "after the event's end too")
}

func TestAnEndedPauseOfOthersIsReplacedButNotLifted(t *testing.T) {
	w := fleet(t)
	w.event("state-running") // about n5, and asks for nothing
	for _, id := range []string{"n2", "n5"} {
		_, err := w.registry.Pause(t.Context(), cluster.NodeTarget(id), cluster.PauseRequest{Mode: cluster.Hold, By: "ops", For: time.Second})
		require.NoError(t, err)
	}
	w.pass(time.Second)
	w.event("spot")
	assert.Empty(t, w.sweep().Resumed, "the sweep itself does that")
	assert.Equal(t, map[string]string{"node:n2": "drain by aws:spot", "node:n5": "hold by ops"}, w.paused())
}

func TestAPauseThatOthersLiftedStaysLifted(t *testing.T) {
	w := fleet(t)
	w.event("spot")
	_, _, err := w.registry.Resume(t.Context(), cluster.NodeTarget("n2"), "ops", "")
	require.NoError(t, err)
	w.sweep()
	assert.Empty(t, w.paused())
	w.event("state-stopping")
	assert.NotContains(t, w.paused(), "node:n2", "another event does not bring it back")
	w.handle(Event{Kind: State, Instance: "i-0aaaaaaaaaaaaaaa2", State: "stopping", Time: at("12:20:00")})
	assert.Contains(t, w.paused(), "node:n2", "one about the same node does")
}

// A sweep may have read the registry before the event came.
func TestAPauseThatASnapshotIsTooOldToHoldIsNotLifted(t *testing.T) {
	w := fleet(t)
	old := w.snapshot()
	w.event("spot")
	_, err := w.handler.Advance(t.Context(), old, cluster.Lease{})
	require.NoError(t, err)
	for name, pending := range w.work() {
		assert.False(t, pending.Resumed, name)
	}
	assert.Contains(t, w.paused(), "node:n2")
}

func TestAPauseStandsWhileItsNodeRestarts(t *testing.T) {
	w := fleet(t)
	w.event("spot")
	w.leave("n2")
	w.sweep()
	assert.Contains(t, w.paused(), "node:n2")
	w.register("n2", "blue", "i-0aaaaaaaaaaaaaaa2", "")
	w.sweep()
	assert.Contains(t, w.paused(), "node:n2")
	w.leave("n2")
	w.register("n2", "blue", "i-0ccccccccccccccc1", "")
	w.sweep()
	assert.NotContains(t, w.paused(), "node:n2", "another machine has the id now")
}

func TestATaskThatIsGoneLeavesNothingBehind(t *testing.T) {
	w := fleet(t)
	w.event("task-stopped")
	w.leave("task")
	w.leave("ip")
	w.sweep()
	assert.Empty(t, w.paused())
	w.event("task-running")
	w.sweep()
	assert.Empty(t, w.paused())
}

func TestTheHarshestEventPauses(t *testing.T) {
	w := newWorld(t)
	w.register("n5", "blue", "i-0aaaaaaaaaaaaaaa5", "")
	w.handle(Event{Kind: Spot, Instance: "i-0aaaaaaaaaaaaaaa5", Time: at("12:01:00"), State: "stop"})
	assert.Equal(t, "drain by aws:spot", w.paused()["node:n5"])
	w.event("state-stopping")
	assert.Equal(t, "redirect by aws:state", w.paused()["node:n5"])
	w.event("state-running")
	assert.Equal(t, "drain by aws:spot", w.paused()["node:n5"], "its end leaves the other")
	for _, hook := range []string{"a", "z"} { // before and after by name, as late by deadline
		w.handle(Event{Kind: Terminate, Instance: "i-0aaaaaaaaaaaaaaa5", Source: "asg:web", Hook: hook, Time: at("12:01:00")})
		assert.Equal(t, "drain by aws:spot", w.paused()["node:n5"], "whose drain ends earlier")
	}
	w.handle(Event{Kind: Rebalance, Instance: "i-0aaaaaaaaaaaaaaa5", Time: at("12:01:00")})
	assert.Equal(t, "drain by aws:spot", w.paused()["node:n5"], "and not the one without an end")
}

func TestAnAddressToldOnceIsKnown(t *testing.T) {
	for _, order := range [][]string{{"task-running", "task-stopped"}, {"task-stopped", "task-running"}} {
		w := fleet(t)
		for _, name := range order {
			e := load(t, name)
			if name == "task-stopped" {
				e.Addresses = nil
			}
			w.handle(e)
		}
		assert.Contains(t, w.paused(), "node:ip", order)
	}
}

func TestADeploymentWhoseEndIsNotToldEnds(t *testing.T) {
	w := fleet(t)
	w.event("ecs-deployment-started")
	w.pass(deploymentMost - time.Millisecond)
	w.sweep()
	assert.Contains(t, w.paused(), "group:blue")
	w.pass(time.Millisecond)
	w.sweep()
	assert.Empty(t, w.paused())
}

// aws/amazon-ecs-agent#955, aws/containers-roadmap#1515
func TestThatATaskRunsAdmitsNoNode(t *testing.T) {
	w := newWorld(t)
	w.event("task-running")
	w.sweep()
	assert.Empty(t, w.snapshot().Nodes)
}

func TestWorkThatCannotBeReadIsPassedOver(t *testing.T) {
	w := fleet(t)
	w.server.HSet("{detour:test}:work", "spot:x", "{", "spot:y", "[]", "sweep", `{"at_ms":5}`, "z", "{}")
	w.event("spot")
	r := w.sweep()
	assert.Equal(t, 2, r.Broken)
	assert.Contains(t, w.paused(), "node:n2")
}
