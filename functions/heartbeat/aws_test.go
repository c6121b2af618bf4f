package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/mototest"
	"github.com/detourhq/detour/pkg/cluster"
)

const region = "eu-central-1"

// inAWS sets the process's environment to that of a function whose AWS is moto.
func inAWS(t *testing.T) *mototest.Server {
	t.Helper()
	server := mototest.Start(t)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": region, "AWS_ACCESS_KEY_ID": "made", "AWS_SECRET_ACCESS_KEY": "up",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	return server
}

// shop is a load balancer with one rule that forwards to the group blue.
type shop struct {
	client             *elb.Client
	rule, blue, detour string
}

func newShop(t *testing.T, server *mototest.Server) shop {
	t.Helper()
	c, err := config.LoadDefaultConfig(t.Context())
	require.NoError(t, err)
	s := shop{client: elb.NewFromConfig(c)}
	subnets, vpc := server.Subnets(t, region)
	lb, err := s.client.CreateLoadBalancer(t.Context(), &elb.CreateLoadBalancerInput{Name: aws.String("web"), Subnets: subnets})
	require.NoError(t, err)
	s.blue = s.group(t, elb.CreateTargetGroupInput{Name: aws.String("blue"), Protocol: types.ProtocolEnumHttp, Port: aws.Int32(80), VpcId: &vpc, TargetType: types.TargetTypeEnumIp})
	_, err = s.client.RegisterTargets(t.Context(), &elb.RegisterTargetsInput{TargetGroupArn: &s.blue, Targets: []types.TargetDescription{{Id: aws.String("192.0.2.1")}}})
	require.NoError(t, err)
	s.detour = s.group(t, elb.CreateTargetGroupInput{Name: aws.String("detour"), TargetType: types.TargetTypeEnumLambda})
	forward := []types.Action{{Type: types.ActionTypeEnumForward, TargetGroupArn: &s.blue}}
	l, err := s.client.CreateListener(t.Context(), &elb.CreateListenerInput{
		LoadBalancerArn: lb.LoadBalancers[0].LoadBalancerArn, Protocol: types.ProtocolEnumHttp, Port: aws.Int32(80), DefaultActions: forward,
	})
	require.NoError(t, err)
	r, err := s.client.CreateRule(t.Context(), &elb.CreateRuleInput{
		ListenerArn: l.Listeners[0].ListenerArn, Priority: aws.Int32(1), Actions: forward,
		Conditions: []types.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{"/shop/*"}}},
	})
	require.NoError(t, err)
	s.rule = *r.Rules[0].RuleArn
	return s
}

func (s shop) group(t *testing.T, in elb.CreateTargetGroupInput) string {
	t.Helper()
	out, err := s.client.CreateTargetGroup(t.Context(), &in)
	require.NoError(t, err)
	return *out.TargetGroups[0].TargetGroupArn
}

// weights are those of the rule's forward, by target group; 1 for a plain one.
func (s shop) weights(t *testing.T) map[string]int32 {
	t.Helper()
	out, err := s.client.DescribeRules(t.Context(), &elb.DescribeRulesInput{RuleArns: []string{s.rule}})
	require.NoError(t, err)
	w := make(map[string]int32)
	for _, g := range out.Rules[0].Actions[0].ForwardConfig.TargetGroups {
		w[*g.TargetGroupArn] = aws.ToInt32(g.Weight)
	}
	return w
}

func TestRulesFollowPausesAndResumes(t *testing.T) {
	s := newShop(t, inAWS(t))
	w := newWorld(t, "DETOUR_TARGET_GROUP="+s.detour)
	w.register(t, "b1")
	_, _, err := w.registry.Register(t.Context(), cluster.Descriptor{ID: "g1", Group: "green", Endpoint: "https://g1.example.com", Weight: 1}, cluster.Report{Status: cluster.Active})
	require.NoError(t, err)
	put := w.invoke(t, t.Context(), `{"command":"group-put","id":"blue","group":{"rules":["`+s.rule+`"],"target_group":"`+s.blue+`"}}`)
	require.NotContains(t, put, "error")

	dry := w.invoke(t, t.Context(), `{"command":"rules","rules":{"dry_run":true}}`)
	require.NotContains(t, dry, "error")
	paused := w.invoke(t, t.Context(), `{"command":"pause","target":"group:blue"}`)
	require.Len(t, paused["rules"], 1)
	assert.Equal(t, "moved", paused["rules"].([]any)[0].(map[string]any)["state"], "%v", paused["rules"])
	moved := s.weights(t)
	assert.Zero(t, moved[s.blue])
	assert.Positive(t, moved[s.detour])

	resumed := w.invoke(t, t.Context(), `{"command":"resume","target":"group:blue"}`)
	assert.Equal(t, "resting", resumed["rules"].([]any)[0].(map[string]any)["state"], "%v", resumed["rules"])
	assert.Positive(t, s.weights(t)[s.blue])
	assert.Zero(t, s.weights(t)[s.detour])

	_, err = w.registry.Pause(t.Context(), cluster.GroupTarget("blue"), cluster.PauseRequest{Mode: cluster.Redirect})
	require.NoError(t, err, "a pause that does not go through the function")
	tick := w.invoke(t, t.Context(), `{"command":"tick"}`)
	assert.InDelta(t, 0.0, tick["errors"], 0)
	assert.Positive(t, s.weights(t)[s.detour], "is followed by the next sweep")
	assert.Contains(t, w.metrics.String(), `"RulesContested":0`)
	assert.Contains(t, w.metrics.String(), `"AwsUnreachable":0`)
	w.invoke(t, t.Context(), `{"command":"tick"}`)
	assert.Equal(t, []string{"rule.moved operator", "rule.restored operator", "rule.moved sweep"}, w.ruleEvents(t, s.rule), "each once")
}

// What the work has resumed is followed by the rules of the same sweep: they do not
// go by what was read before.
func TestRulesFollowWhatTheWorkResumes(t *testing.T) {
	s := newShop(t, inAWS(t))
	w := newWorld(t, "DETOUR_TARGET_GROUP="+s.detour)
	w.register(t, "b1")
	_, _, err := w.registry.Register(t.Context(), cluster.Descriptor{ID: "g1", Group: "green", Endpoint: "https://g1.example.com", Weight: 1}, cluster.Report{Status: cluster.Active})
	require.NoError(t, err)
	w.invoke(t, t.Context(), `{"command":"group-put","id":"blue","group":{"rules":["`+s.rule+`"],"target_group":"`+s.blue+`"}}`)
	p, err := w.registry.Pause(t.Context(), cluster.GroupTarget("blue"), cluster.PauseRequest{Mode: cluster.Redirect, By: "aws:deployment"})
	require.NoError(t, err)
	w.invoke(t, t.Context(), `{"command":"rules"}`)
	require.Zero(t, s.weights(t)[s.blue])
	old := fmt.Sprintf(`{"event":{"kind":"codedeploy","source":"codedeploy:shop/blue","state":"START"},"since_ms":1,"targets":["group:blue"],"paused":%d}`, p.Epoch)
	require.NoError(t, w.registry.SwapWork(t.Context(), nil, "deployment", "", old))

	w.invoke(t, t.Context(), `{"command":"tick"}`)
	snapshot, err := w.registry.Snapshot(t.Context(), w.handler.wall)
	require.NoError(t, err)
	assert.Empty(t, snapshot.Pauses, "its deployment is long over")
	assert.Positive(t, s.weights(t)[s.blue])
}

// ruleEvents lists what was told of a rule, and by whom.
func (w *world) ruleEvents(t *testing.T, rule string) (events []string) {
	t.Helper()
	entries, err := w.server.Stream("{detour:default}:events")
	require.NoError(t, err)
	for _, e := range entries {
		values := make(map[string]string)
		for i := 0; i < len(e.Values); i += 2 {
			values[e.Values[i]] = e.Values[i+1]
		}
		if values["target"] == "rule:"+rule {
			events = append(events, values["kind"]+" "+values["by"])
		}
	}
	return events
}

const terminate = `{"version":"0","id":"11111111-0000-4000-8000-000000000001","detail-type":"EC2 Instance-terminate Lifecycle Action","source":"aws.autoscaling",
	"account":"123456789012","time":"2026-03-01T12:00:00Z","region":"eu-central-1","resources":[],"detail":{"LifecycleActionToken":"87654321-4321-4321-8321-210987654321",
	"AutoScalingGroupName":"web","LifecycleHookName":"drain","EC2InstanceId":"i-0aaaaaaaaaaaaaaa1","LifecycleTransition":"autoscaling:EC2_INSTANCE_TERMINATING"}}`

func TestAnEventPausesTheNodeItIsAbout(t *testing.T) {
	inAWS(t)
	w := newWorld(t)
	for _, d := range []cluster.Descriptor{{ID: "n1", Target: "i-0aaaaaaaaaaaaaaa1"}, {ID: "n2"}} {
		d.Group, d.Endpoint, d.Weight = "blue", "https://"+d.ID+".example.com", 1
		_, _, err := w.registry.Register(t.Context(), d, cluster.Report{Status: cluster.Active})
		require.NoError(t, err)
	}
	for range 2 { // events come at least once
		answer := w.invoke(t, t.Context(), terminate)
		assert.Equal(t, "terminate", answer["event"])
	}
	s, err := w.registry.Snapshot(t.Context(), w.handler.wall)
	require.NoError(t, err)
	assert.Len(t, s.Pauses, 1)
	assert.Contains(t, s.Pauses, cluster.NodeTarget("n1"))
	broken := w.invoke(t, t.Context(), `{"detail-type":"EC2 Instance-terminate Lifecycle Action","source":"aws.autoscaling","detail":{}}`)
	assert.InDelta(t, 2.0, broken["code"], 0)
}

func TestWithoutARegionRulesAreLeftAlone(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	w := newWorld(t)
	for _, payload := range []string{`{"command":"rules"}`, terminate} {
		answer := w.invoke(t, t.Context(), payload)
		assert.Contains(t, answer["error"], "AWS_REGION")
		assert.InDelta(t, 1.0, answer["code"], 0)
	}
	assert.NotContains(t, w.invoke(t, t.Context(), `{"command":"tick"}`), "error")
}
