package rules_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/mototest"
	"github.com/detourhq/detour/internal/rules"
	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

const region = "eu-central-1"

// balancer is a load balancer at moto, reached through the real SDK.
type balancer struct {
	*elb.Client
	t        *testing.T
	arn, vpc string
	listener *types.Listener
}

func newBalancer(t *testing.T) *balancer {
	server := mototest.Start(t)
	b := &balancer{t: t, Client: elb.New(elb.Options{
		Region: region, BaseEndpoint: &server.URL,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "made-up", SecretAccessKey: "made-up"}, nil
		}),
	})}
	subnets, vpc := server.Subnets(t, region)
	lb, err := b.CreateLoadBalancer(t.Context(), &elb.CreateLoadBalancerInput{Name: aws.String("web"), Subnets: subnets})
	require.NoError(t, err)
	b.arn, b.vpc = *lb.LoadBalancers[0].LoadBalancerArn, vpc
	l, err := b.CreateListener(t.Context(), &elb.CreateListenerInput{
		LoadBalancerArn: &b.arn, Protocol: types.ProtocolEnumHttp, Port: aws.Int32(80),
		DefaultActions: []types.Action{forward(nil, b.group("default"), 1)},
	})
	require.NoError(t, err)
	b.listener = &l.Listeners[0]
	return b
}

// group makes a target group with one target, which moto finds healthy.
func (b *balancer) group(name string) string {
	out, err := b.CreateTargetGroup(b.t.Context(), &elb.CreateTargetGroupInput{
		Name: &name, Protocol: types.ProtocolEnumHttp, Port: aws.Int32(80), VpcId: &b.vpc, TargetType: types.TargetTypeEnumIp,
	})
	require.NoError(b.t, err)
	arn := *out.TargetGroups[0].TargetGroupArn
	_, err = b.RegisterTargets(b.t.Context(), &elb.RegisterTargetsInput{TargetGroupArn: &arn, Targets: []types.TargetDescription{{Id: aws.String("192.0.2.1")}}})
	require.NoError(b.t, err)
	return arn
}

// redirect makes the redirect function's target group.
func (b *balancer) redirect() string {
	out, err := b.CreateTargetGroup(b.t.Context(), &elb.CreateTargetGroupInput{Name: aws.String("detour"), TargetType: types.TargetTypeEnumLambda})
	require.NoError(b.t, err)
	return *out.TargetGroups[0].TargetGroupArn
}

func (b *balancer) rule(priority int32, a types.Action) string {
	out, err := b.CreateRule(b.t.Context(), &elb.CreateRuleInput{
		ListenerArn: b.listener.ListenerArn, Priority: &priority, Actions: []types.Action{a},
		Conditions: []types.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{"/shop/*"}}},
	})
	require.NoError(b.t, err)
	return *out.Rules[0].RuleArn
}

func (b *balancer) read(arn string) types.Rule {
	out, err := b.DescribeRules(b.t.Context(), &elb.DescribeRulesInput{RuleArns: []string{arn}})
	require.NoError(b.t, err)
	require.Len(b.t, out.Rules, 1)
	return out.Rules[0]
}

func (b *balancer) tags(arn string) map[string]string {
	out, err := b.DescribeTags(b.t.Context(), &elb.DescribeTagsInput{ResourceArns: []string{arn}})
	require.NoError(b.t, err)
	tags := make(map[string]string)
	for _, tag := range out.TagDescriptions[0].Tags {
		tags[*tag.Key] = *tag.Value
	}
	return tags
}

// forward returns a weighted action; pairs are target groups and weights.
func forward(sticky *int32, pairs ...any) types.Action {
	c := &types.ForwardActionConfig{TargetGroupStickinessConfig: &types.TargetGroupStickinessConfig{Enabled: aws.Bool(sticky != nil), DurationSeconds: sticky}}
	for i := 0; i < len(pairs); i += 2 {
		c.TargetGroups = append(c.TargetGroups, types.TargetGroupTuple{TargetGroupArn: aws.String(pairs[i].(string)), Weight: aws.Int32(int32(pairs[i+1].(int)))})
	}
	return types.Action{Type: types.ActionTypeEnumForward, ForwardConfig: c}
}

// weights returns what the last action of a rule gives each target group, and its
// stickiness in seconds.
func weights(r types.Rule) (map[string]int32, int32) {
	c := r.Actions[len(r.Actions)-1].ForwardConfig
	out := make(map[string]int32)
	for _, t := range c.TargetGroups {
		out[*t.TargetGroupArn] = *t.Weight
	}
	if aws.ToBool(c.TargetGroupStickinessConfig.Enabled) {
		return out, *c.TargetGroupStickinessConfig.DurationSeconds
	}
	return out, 0
}

// registry is a snapshot of two groups that share rules, with a node each.
func registry(blue, green, detour string, rules ...string) *cluster.Snapshot {
	s := &cluster.Snapshot{Epoch: 1, Time: 1_700_000_000_000, Pauses: make(map[cluster.Target]cluster.Pause), Groups: make(map[string]cluster.Group)}
	for name, tg := range map[string]string{"blue": blue, "green": green} {
		s.Groups[name] = cluster.Group{ID: name, TargetGroup: tg, DetourTargetGroup: detour, Rules: rules}
		s.Nodes = append(s.Nodes, cluster.Node{
			Descriptor: cluster.Descriptor{ID: name + "-1", Group: name, Endpoint: "https://" + name + ".example.com", Weight: 100},
			Report:     cluster.Report{Status: cluster.Active}, Pulse: s.Time,
		})
	}
	return s
}

// motoPass makes passes on s that remember, and returns how each rule stands.
func motoPass(b *balancer, s *cluster.Snapshot) func() map[string]rules.State {
	r := rules.New(b, rules.Config{
		Cluster: "eu", WritesPerSecond: 1000, CallTimeout: 5 * time.Second, Selection: selection.Config{PulseTimeout: time.Minute},
	}, time.Now, slog.New(slog.DiscardHandler))
	var memory rules.Memory
	return func() map[string]rules.State {
		report, err := r.Reconcile(b.t.Context(), s, s.Time, memory, rules.Options{})
		require.NoError(b.t, err)
		memory = report.Memory
		states := make(map[string]rules.State)
		for _, st := range report.Rules {
			states[st.ARN] = st.State
		}
		return states
	}
}

// One load balancer, from the first pause to the last resume, over the wire. moto
// finds no tags of a default rule; these are left to localaws.
func TestRulesOfARealAPIAreMovedAndPutBack(t *testing.T) {
	b := newBalancer(t)
	blue, green, detour := b.group("blue"), b.group("green"), b.redirect()
	front := b.rule(1, forward(aws.Int32(3600), blue, 60, green, 40))
	scalar := b.rule(2, types.Action{Type: types.ActionTypeEnumForward, TargetGroupArn: &blue})
	gone := b.rule(3, forward(nil, blue, 1))
	_, err := b.DeleteRule(t.Context(), &elb.DeleteRuleInput{RuleArn: &gone})
	require.NoError(t, err)
	before := b.read(front)
	s := registry(blue, green, detour, front, scalar, gone)
	pass := motoPass(b, s)

	s.Pauses[cluster.GroupTarget("blue")] = cluster.Pause{Mode: cluster.Redirect}
	moved := map[string]rules.State{front: rules.Moved, scalar: rules.Moved, gone: rules.Refused}
	assert.Equal(t, moved, pass())
	assert.Equal(t, moved, pass())
	got, sticky := weights(b.read(front))
	assert.Equal(t, map[string]int32{blue: 0, green: 40, detour: 60}, got)
	assert.Zero(t, sticky)
	assert.Equal(t, before.Conditions, b.read(front).Conditions)
	assert.Equal(t, "eu", b.tags(front)["detour:cluster"])
	assert.Contains(t, b.tags(front)["detour:resting"], "=60 ")

	delete(s.Pauses, cluster.GroupTarget("blue"))
	assert.Equal(t, map[string]rules.State{front: rules.Resting, scalar: rules.Resting, gone: rules.Refused}, pass())
	assert.Equal(t, before, b.read(front))
	got, _ = weights(b.read(scalar))
	assert.Equal(t, map[string]int32{blue: 1}, got)
	assert.Empty(t, b.tags(front))
	assert.Empty(t, b.tags(scalar))
}
