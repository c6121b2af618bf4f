package rules

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/localaws"
	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

var (
	_ api = (*elb.Client)(nil)
	_ api = (*localaws.ELB)(nil)
)

const (
	account = "arn:aws:elasticloadbalancing:eu-central-1:123456789012:"
	start   = cluster.Millis(1_700_000_000_000)
)

var (
	blue   = targetGroup("blue", 1)
	green  = targetGroup("green", 2)
	other  = targetGroup("other", 3)
	detour = targetGroup("detour", 13)
	front  = ruleARN(1)
)

func targetGroup(name string, n int) string {
	return fmt.Sprintf("%stargetgroup/%s/%016x", account, name, n)
}

func ruleARN(n int) string {
	return fmt.Sprintf("%slistener-rule/app/web/50dc6c495c0c9188/f2f7dc8efc522ab2/%016x", account, n)
}

// world is a registry of two groups, each with a node that is well, a load
// balancer, and what is remembered.
type world struct {
	t        *testing.T
	aws      *localaws.ELB
	config   Config
	snapshot *cluster.Snapshot
	now      cluster.Millis
	memory   Memory
	rules    *Reconciler
}

// newWorld has one rule, listed by blue and green, with these actions.
func newWorld(t *testing.T, actions ...types.Action) *world {
	w := &world{
		t: t, aws: localaws.NewELB(), now: start, memory: Memory{},
		config: Config{
			Cluster: "eu", TargetGroup: detour, WritesPerSecond: 1e6, CallTimeout: 500 * time.Millisecond,
			Selection: selection.Config{PulseTimeout: time.Hour},
		},
		snapshot: &cluster.Snapshot{Epoch: 7, Time: start, Pauses: make(map[cluster.Target]cluster.Pause), Groups: make(map[string]cluster.Group)},
	}
	w.group("blue", blue, front)
	w.group("green", green, front)
	w.node("b1", "blue")
	w.node("g1", "green")
	w.aws.Rules[front] = types.Rule{RuleArn: &front, Actions: localaws.AsRead(actions)}
	return w
}

func (w *world) group(name, tg string, rules ...string) {
	w.snapshot.Groups[name] = cluster.Group{ID: name, TargetGroup: tg, Rules: rules}
}

func (w *world) node(name, group string) {
	w.snapshot.Nodes = append(w.snapshot.Nodes, cluster.Node{
		Descriptor: cluster.Descriptor{ID: name, Group: group, Endpoint: "https://" + name + ".example.com", Weight: 100},
		Report:     cluster.Report{Status: cluster.Active}, Pulse: start,
	})
}

func (w *world) pause(group string, mode cluster.Mode) {
	w.snapshot.Epoch++
	w.snapshot.Pauses[cluster.GroupTarget(group)] = cluster.Pause{Mode: mode, Since: w.now}
}

func (w *world) resume(group string) {
	w.snapshot.Epoch++
	delete(w.snapshot.Pauses, cluster.GroupTarget(group))
}

// pass makes one pass, a second after the last one, and remembers.
func (w *world) pass(o Options) Report {
	w.t.Helper()
	r, err := w.try(o)
	require.NoError(w.t, err)
	return r
}

func (w *world) try(o Options) (Report, error) {
	w.now += 1000
	if w.rules == nil {
		w.rules = New(w.aws, w.config, time.Now, slog.New(slog.DiscardHandler))
	}
	r, err := w.rules.Reconcile(w.t.Context(), w.snapshot, w.now, w.memory, o)
	w.memory = r.Memory
	return r, err
}

// state makes a pass and returns how the one rule stands.
func (w *world) state(o Options) RuleState {
	w.t.Helper()
	r := w.pass(o)
	require.Len(w.t, r.Rules, 1)
	return r.Rules[0]
}

// is checks what the rule is, and which tags of ours it bears.
func (w *world) is(want Forward, tags map[string]string) {
	w.t.Helper()
	f, err := forwardOf(w.aws.Rules[front].Actions)
	require.NoError(w.t, err)
	assert.True(w.t, want.equal(f), "want %v\ngot  %v", want, f)
	if tags == nil {
		assert.Empty(w.t, w.aws.Tags[front])
	} else {
		assert.Equal(w.t, tags, w.aws.Tags[front])
	}
}

// forwardTo is the shape of weights in text: pairs of target group and weight.
func forwardTo(sticky int32, pairs ...any) Forward {
	f := Forward{Sticky: sticky}
	for i := 0; i < len(pairs); i += 2 {
		f.Weights = append(f.Weights, Weight{pairs[i].(string), int32(pairs[i+1].(int))})
	}
	return f
}

func action(f Forward) types.Action {
	return types.Action{Type: types.ActionTypeEnumForward, ForwardConfig: f.config()}
}

func scalar(tg string) types.Action {
	return types.Action{Type: types.ActionTypeEnumForward, TargetGroupArn: aws.String(tg)}
}

func claim(group, resting string) map[string]string {
	return map[string]string{clusterTag: "eu", groupTag: group, restingTag: resting}
}
