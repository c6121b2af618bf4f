package command

import (
	"log/slog"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/localaws"
	"github.com/detourhq/detour/internal/rules"
	"github.com/detourhq/detour/pkg/cluster"
)

var (
	front  = localaws.RuleARN("front")
	blue   = localaws.TargetGroupARN("blue")
	green  = localaws.TargetGroupARN("green")
	detour = localaws.TargetGroupARN("detour")
)

// world is a runner on a registry of its own, and one rule that leads all to blue
// and nothing to green.
type world struct {
	*Runner
	t   *testing.T
	aws *localaws.ELB
}

func newWorld(t *testing.T) world {
	t.Helper()
	client, err := cluster.Dial("redis://"+miniredis.RunT(t).Addr(), 5*time.Second)
	require.NoError(t, err)
	registry, err := cluster.NewRegistry(client, "test")
	require.NoError(t, err)
	t.Cleanup(func() { _ = registry.Close() })
	w := world{&Runner{Cluster: "test", Registry: registry, RuleSettle: 10 * time.Second, Wall: time.Now}, t, localaws.NewELB()}
	w.Redirect.Selection.PulseTimeout = 15 * time.Second
	w.Rules = rules.New(w.aws, rules.Config{Cluster: "test", TargetGroup: detour, WritesPerSecond: 1000}, time.Now, slog.New(slog.DiscardHandler))
	w.aws.Rules[front] = types.Rule{RuleArn: &front, IsDefault: aws.Bool(false), Actions: localaws.AsRead([]types.Action{{
		Type: types.ActionTypeEnumForward, ForwardConfig: &types.ForwardActionConfig{TargetGroups: []types.TargetGroupTuple{
			{TargetGroupArn: &blue, Weight: aws.Int32(1)}, {TargetGroupArn: &green, Weight: aws.Int32(0)},
		}},
	}})}
	for id, tg := range map[string]string{"blue": blue, "green": green} {
		_, err := registry.ChangeGroup(t.Context(), id, func(g *cluster.Group) error {
			g.Rules, g.TargetGroup = []string{front}, tg
			return nil
		})
		require.NoError(t, err)
	}
	return w
}

// do carries out c, which answers with a T.
func do[T any](w world, c Command) *T {
	w.t.Helper()
	result, err := w.Run(w.t.Context(), c)
	require.NoError(w.t, err)
	typed, ok := result.(*T)
	require.True(w.t, ok, "%T", result)
	return typed
}

func (w world) look(target string) *Look {
	w.t.Helper()
	return do[Look](w, Command{Verb: "wait", Target: target})
}

func (w world) node(d cluster.Descriptor) cluster.Generation {
	w.t.Helper()
	d.Endpoint, d.Weight = "https://"+d.ID+".example.com", 1
	d, _, err := w.Registry.Register(w.t.Context(), d, cluster.Report{Status: cluster.Active})
	require.NoError(w.t, err)
	return d.Generation
}

func TestALookTellsHowRulesStand(t *testing.T) {
	w := newWorld(t)
	w.node(cluster.Descriptor{ID: "b1", Group: "blue"})
	pause := Command{Verb: "pause", Target: "group:blue"}
	assert.Equal(t, rules.Refused, do[Paused](w, pause).Rules[0].State, "nobody would be left")
	l := w.look("group:blue")
	assert.Equal(t, rules.Refused, l.Rules[0].State)
	assert.Contains(t, l.Rules[0].Why, "force")
	assert.Equal(t, int64(10_000), l.SettleMS)

	pause.Force = true
	assert.Equal(t, rules.Moved, do[Paused](w, pause).Rules[0].State, "as is said")
	calls := w.aws.Calls
	assert.Equal(t, rules.Moved, w.look("group:blue").Rules[0].State)
	assert.Equal(t, calls, w.aws.Calls, "AWS is not asked")
	assert.Equal(t, rules.Moved, w.look("all").Rules[0].State)
	assert.Empty(t, w.look("node:b1").Rules, "no rule follows a node's pause")

	do[Resumed](w, Command{Verb: "resume", Target: "group:blue"})
	do[Paused](w, Command{Verb: "pause", Target: "group:green", Force: true})
	writes := len(w.aws.Writes)
	assert.Equal(t, rules.Resting, w.look("group:green").Rules[0].State, "there is no weight to move, AWS says")
	_, err := w.Registry.Pause(t.Context(), cluster.GroupTarget("blue"), cluster.PauseRequest{Mode: cluster.Hold})
	require.NoError(t, err, "a pause that moves no rule")
	assert.Equal(t, rules.Pending, w.look("group:blue").Rules[0].State)
	w.Rules = nil
	assert.Equal(t, rules.Pending, w.look("group:green").Rules[0].State, "which nobody knows without it")
	assert.Len(t, w.aws.Writes, writes, "a look changes nothing")
	warnings := do[Paused](w, Command{Verb: "pause", Target: "group:blue", Force: true}).Warnings
	assert.Contains(t, warnings[len(warnings)-1], "not forced")
}

func TestWhatIsRememberedOfARule(t *testing.T) {
	led := func(blues, greens int32) *rules.Forward {
		return &rules.Forward{Weights: []rules.Weight{{TargetGroup: blue, Weight: blues}, {TargetGroup: green, Weight: greens}}}
	}
	for _, row := range []struct {
		name string
		mode cluster.Mode
		m    rules.RuleMemory
		want rules.State
	}{
		{"nothing", cluster.Redirect, rules.RuleMemory{}, rules.Pending},
		{"that it rests", cluster.Redirect, rules.RuleMemory{State: rules.Resting, Forced: "blue=drain"}, rules.Pending},
		{"that it is moved", cluster.Redirect, rules.RuleMemory{State: rules.Moved, Written: led(0, 1)}, rules.Moved},
		{"that it is moved for another group", cluster.Redirect, rules.RuleMemory{State: rules.Moved, Written: led(1, 0)}, rules.Pending},
		{"that it was found moved", cluster.Redirect, rules.RuleMemory{State: rules.Moved}, rules.Moved},
		{"that AWS denies it", cluster.Redirect, rules.RuleMemory{State: rules.Denied}, rules.Denied},
		{"nothing, in a drain", cluster.Drain, rules.RuleMemory{}, rules.Resting},
		{"somebody else's, in a drain", cluster.Drain, rules.RuleMemory{State: rules.Foreign}, rules.Resting},
		{"a drain that was forced", cluster.Drain, rules.RuleMemory{State: rules.Pending, Forced: "blue=drain"}, rules.Pending},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, ruleLook(cluster.Group{ID: "blue", TargetGroup: blue}, row.mode, front, row.m).State)
		})
	}
}

func TestALookTellsHowNodesStand(t *testing.T) {
	w := newWorld(t)
	g := w.node(cluster.Descriptor{ID: "b1", Group: "blue", Contexts: []string{"/shop", "/cart"}, PulseMS: 10_000})
	w.node(cluster.Descriptor{ID: "b2", Group: "blue", Contexts: []string{"/shop"}})
	w.node(cluster.Descriptor{ID: "g1", Group: "green"})
	l := w.look("group:blue")
	assert.Nil(t, l.Pause)
	require.Len(t, l.Nodes, 2)
	assert.Empty(t, l.Nodes[0].Mode)
	assert.False(t, l.Nodes[0].Partial)

	do[Paused](w, Command{Verb: "pause", Target: "group:blue", Mode: "drain", DeadlineMS: 60_000, By: "ops"})
	_, err := w.Registry.Pulse(t.Context(), "b1", g, &cluster.Figures{Sessions: 3})
	require.NoError(t, err)
	l = w.look("group:blue")
	assert.Equal(t, "ops", l.Pause.By)
	assert.Equal(t, cluster.Drain, l.Nodes[0].Mode)
	assert.Equal(t, int64(3), l.Nodes[0].Figures.Sessions)
	assert.Nil(t, l.Nodes[1].Figures)
	assert.Equal(t, []int64{30_000, 15_000}, []int64{l.Nodes[0].ToleranceMS, l.Nodes[1].ToleranceMS})

	_, err = w.Registry.Report(t.Context(), "b1", cluster.Report{Generation: g, Status: cluster.Paused})
	require.NoError(t, err)
	do[Paused](w, Command{Verb: "pause", Target: "node:b2", Mode: "stop"})
	l = w.look("group:blue")
	assert.Equal(t, []cluster.Mode{cluster.Redirect, cluster.Stop}, []cluster.Mode{l.Nodes[0].Mode, l.Nodes[1].Mode}, "the harshest decides")
	assert.Equal(t, cluster.Drain, l.Pause.Mode, "the pause is the one on the target")

	assert.True(t, w.look("context:b1/shop").Nodes[0].Partial)
	assert.False(t, w.look("context:b2/shop").Nodes[0].Partial)
}
