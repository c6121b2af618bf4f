package awsevents

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/codedeploy"
	"github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// world is a registry whose time is moved by hand, and an AWS that is ours.
type world struct {
	t        *testing.T
	server   *miniredis.Miniredis
	registry *cluster.Registry
	handler  *Handler
	aws      *fakeAWS
	now      time.Time
	nodes    map[string]cluster.Descriptor
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		t: t, server: miniredis.RunT(t), now: at("12:10:00"), nodes: make(map[string]cluster.Descriptor),
		aws: newAWS(),
	}
	w.server.SetTime(w.now)
	client, err := cluster.Dial("redis://"+w.server.Addr(), 5*time.Second)
	require.NoError(t, err)
	w.registry, err = cluster.NewRegistry(client, "test")
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.registry.Close() })
	config := Config{PulseTimeout: 15 * time.Second, Drain: 2 * time.Minute}
	w.handler = New(w.registry, Clients{w.aws, w.aws}, config, w.wall, slog.New(slog.DiscardHandler))
	return w
}

func (w *world) wall() time.Time { return w.now }

// pass lets time go by, with a pulse of every node at the end.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	w.server.SetTime(w.now)
	for id := range w.nodes {
		w.pulse(id, nil)
	}
}

func (w *world) register(id, group, target, task string) {
	w.t.Helper()
	d, _, err := w.registry.Register(w.t.Context(), cluster.Descriptor{
		ID: id, Group: group, Endpoint: "https://" + id + ".example.com", Weight: cluster.DefaultWeight, Target: target, Task: task,
	}, cluster.Report{Status: cluster.Active})
	require.NoError(w.t, err)
	w.nodes[id] = d
}

func (w *world) pulse(id string, f *cluster.Figures) {
	w.t.Helper()
	_, err := w.registry.Pulse(w.t.Context(), id, w.nodes[id].Generation, f)
	require.NoError(w.t, err)
}

// leave takes a node out in order, silence without a word.
func (w *world) leave(id string) {
	w.t.Helper()
	_, err := w.registry.Leave(w.t.Context(), id, w.nodes[id].Generation)
	require.NoError(w.t, err)
	delete(w.nodes, id)
}

func (w *world) silence(id string) { delete(w.nodes, id) }

// quiet publishes, once all who were led to a node have arrived, that it acts on all
// that is known, and what it has to do.
func (w *world) quiet(id string, inFlight, sessions int64) {
	w.t.Helper()
	w.pass(landing)
	epoch, err := w.registry.Epoch(w.t.Context(), cluster.Counts{})
	require.NoError(w.t, err)
	w.pulse(id, &cluster.Figures{InFlight: inFlight, Sessions: sessions, SeenEpoch: epoch})
}

// idle publishes, so long after the pause, that a node obeys it, has nothing to do,
// and saw the last one arrive ago.
func (w *world) idle(id string, paused, ago time.Duration) {
	w.t.Helper()
	w.pass(paused)
	w.pulse(id, &cluster.Figures{SeenEpoch: w.snapshot().Epoch, LastArrival: w.snapshot().Time.Add(-ago)})
}

func (w *world) group(id string, change func(*cluster.Group)) {
	w.t.Helper()
	_, err := w.registry.ChangeGroup(w.t.Context(), id, func(g *cluster.Group) error { change(g); return nil })
	require.NoError(w.t, err)
}

func (w *world) sources(id string, sources ...string) {
	w.t.Helper()
	w.group(id, func(g *cluster.Group) { g.Sources = sources })
}

func (w *world) handle(e Event) any {
	w.t.Helper()
	answer, err := w.handler.Handle(w.t.Context(), e)
	require.NoError(w.t, err)
	return answer
}

func (w *world) event(name string) Answer {
	w.t.Helper()
	answer, ok := w.handle(load(w.t, name)).(Answer)
	require.True(w.t, ok)
	return answer
}

func (w *world) snapshot() *cluster.Snapshot {
	w.t.Helper()
	s, err := w.registry.Snapshot(w.t.Context(), w.wall)
	require.NoError(w.t, err)
	return s
}

// sweep is what each sweep does with work.
func (w *world) sweep() Result {
	w.t.Helper()
	l, err := w.registry.AcquireLease(w.t.Context(), "sweep", time.Minute)
	require.NoError(w.t, err)
	r, err := w.handler.Advance(w.t.Context(), w.snapshot(), l)
	require.NoError(w.t, err)
	require.NoError(w.t, w.registry.ReleaseLease(w.t.Context(), l))
	return r
}

func (w *world) paused() map[string]string {
	w.t.Helper()
	return modes(w.snapshot().Pauses)
}

// modes tells of each target its pause's mode and by whom it is.
func modes(pauses map[cluster.Target]cluster.Pause) map[string]string {
	all := make(map[string]string)
	for t, p := range pauses {
		all[t.String()] = string(p.Mode) + " by " + p.By
	}
	return all
}

func (w *world) work() map[string]work {
	w.t.Helper()
	bodies, err := w.registry.Work(w.t.Context())
	require.NoError(w.t, err)
	all := make(map[string]work)
	for name, body := range bodies {
		all[name], err = decodeWork(body)
		require.NoError(w.t, err)
	}
	return all
}

// fakeAWS knows lifecycle actions by their token, and hooks by their execution.
type fakeAWS struct {
	active    map[string]bool
	completed []string // tokens, with the result
	beats     []string
	statuses  map[string]string
	calls     int
	faults    []error // what the next calls answer instead, nil for nothing
}

func newAWS() *fakeAWS {
	return &fakeAWS{active: make(map[string]bool), statuses: make(map[string]string)}
}

func (f *fakeAWS) fault() error {
	f.calls++
	if len(f.faults) == 0 {
		return nil
	}
	err := f.faults[0]
	f.faults = f.faults[1:]
	return err
}

func inactiveAction(instance string) error {
	return &smithy.GenericAPIError{Code: "ValidationError", Message: "No active Lifecycle Action found with instance ID " + instance, Fault: smithy.FaultClient}
}

func (f *fakeAWS) CompleteLifecycleAction(ctx context.Context, in *autoscaling.CompleteLifecycleActionInput, _ ...func(*autoscaling.Options)) (*autoscaling.CompleteLifecycleActionOutput, error) {
	if err := f.fault(); err != nil || ctx.Err() != nil {
		return nil, err
	}
	if !f.active[*in.LifecycleActionToken] {
		return nil, inactiveAction(*in.InstanceId)
	}
	delete(f.active, *in.LifecycleActionToken)
	f.completed = append(f.completed, *in.AutoScalingGroupName+" "+*in.LifecycleHookName+" "+*in.InstanceId+" "+*in.LifecycleActionResult)
	return &autoscaling.CompleteLifecycleActionOutput{}, nil
}

func (f *fakeAWS) RecordLifecycleActionHeartbeat(_ context.Context, in *autoscaling.RecordLifecycleActionHeartbeatInput, _ ...func(*autoscaling.Options)) (*autoscaling.RecordLifecycleActionHeartbeatOutput, error) {
	if err := f.fault(); err != nil {
		return nil, err
	}
	if !f.active[*in.LifecycleActionToken] {
		return nil, inactiveAction(*in.InstanceId)
	}
	f.beats = append(f.beats, *in.InstanceId)
	return &autoscaling.RecordLifecycleActionHeartbeatOutput{}, nil
}

func (f *fakeAWS) PutLifecycleEventHookExecutionStatus(_ context.Context, in *codedeploy.PutLifecycleEventHookExecutionStatusInput, _ ...func(*codedeploy.Options)) (*codedeploy.PutLifecycleEventHookExecutionStatusOutput, error) {
	if err := f.fault(); err != nil {
		return nil, err
	}
	if _, done := f.statuses[*in.LifecycleEventHookExecutionId]; done {
		return nil, &types.LifecycleEventAlreadyCompletedException{}
	}
	f.statuses[*in.LifecycleEventHookExecutionId] = string(in.Status)
	return &codedeploy.PutLifecycleEventHookExecutionStatusOutput{}, nil
}

// during does something while an action is being completed.
type during struct {
	*fakeAWS
	do func()
}

func (d during) CompleteLifecycleAction(ctx context.Context, in *autoscaling.CompleteLifecycleActionInput, o ...func(*autoscaling.Options)) (*autoscaling.CompleteLifecycleActionOutput, error) {
	d.do()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return d.fakeAWS.CompleteLifecycleAction(ctx, in, o...)
}
