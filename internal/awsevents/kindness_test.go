package awsevents

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestAKindnessIsDoneOnlyWhileSomebodyStandsIn(t *testing.T) {
	stale := func(w *world) { w.silence("g1"); w.pass(time.Minute) }
	for _, c := range []struct {
		name   string
		but    func(w *world)
		paused bool
	}{
		{"green stands in for blue", func(*world) {}, true},
		{"unless it is silent", stale, false},
		{"or paused", func(w *world) {
			_, err := w.registry.Pause(t.Context(), cluster.GroupTarget("green"), cluster.PauseRequest{Mode: cluster.Drain})
			require.NoError(t, err)
		}, false},
		{"or taken by AWS too", func(w *world) {
			w.handle(Event{Kind: Spot, Instance: "i-0bbbbbbbbbbbbbbb1", Time: at("12:00:00")})
		}, false},
		{"or of another service", func(w *world) { w.group("green", func(g *cluster.Group) { g.Service = "other" }) }, false},
		{"or not active", func(w *world) {
			d := w.nodes["g1"]
			_, err := w.registry.Report(t.Context(), "g1", cluster.Report{Generation: d.Generation, Status: cluster.Overloaded})
			require.NoError(t, err)
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := fleet(t)
			c.but(w)
			w.event("ecs-deployment-started")
			_, paused := w.paused()["group:blue"]
			assert.Equal(t, c.paused, paused)
		})
	}
}

func TestAKindnessEndsWhenNobodyStandsInAnyMore(t *testing.T) {
	w := fleet(t)
	w.event("codedeploy-start")
	require.Contains(t, w.paused(), "group:blue")
	w.silence("g1")
	w.pass(time.Minute)
	assert.Equal(t, []string{"group:blue"}, w.sweep().Resumed)
	w.register("g1", "green", "i-0bbbbbbbbbbbbbbb1", "")
	assert.Equal(t, []string{"group:blue"}, w.sweep().Paused, "and begins again")
}

func TestOfSpotNodesAtRiskSomebodyIsLeft(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"a", "b", "c"} {
		w.register(id, "blue", "i-"+id, "")
		w.handle(Event{Kind: Rebalance, Instance: "i-" + id, Time: at("12:00:00")})
	}
	assert.Len(t, w.paused(), 2)
}
