package localaws_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/localalb"
	"github.com/detourhq/detour/internal/localaws"
)

var front, blue, green = localaws.RuleARN("front"), localaws.TargetGroupARN("blue"), localaws.TargetGroupARN("green")

// newBalancer is a load balancer with a target in blue, a rule that forwards to
// blue alone, and the SDK's client of its API.
func newBalancer(t *testing.T) (*localalb.LoadBalancer, *elb.Client) {
	t.Helper()
	lb, err := localalb.New(localalb.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = lb.Close() })
	target := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(target.Close)
	for _, name := range []string{"blue", "green"} {
		require.NoError(t, lb.AddHTTPGroup(name, localalb.HTTPGroup{Health: localalb.HealthCheck{Interval: 20 * time.Millisecond, Matcher: "404"}}))
	}
	require.NoError(t, lb.Register("blue", strings.TrimPrefix(target.URL, "http://")))
	require.NoError(t, lb.SetRule(localalb.Rule{
		Name: "front", Priority: 1, Conditions: []localalb.Condition{localalb.PathPattern("/*")}, Action: localalb.Forward{"blue": 7},
	}))
	return lb, elb.NewFromConfig(serve(t, &localaws.Server{ELB: localaws.InFrontOf(lb)}))
}

// weighted is a forward action; pairs are target groups and weights.
func weighted(sticky int32, pairs ...any) []types.Action {
	c := &types.ForwardActionConfig{TargetGroupStickinessConfig: &types.TargetGroupStickinessConfig{Enabled: aws.Bool(sticky > 0)}}
	if sticky > 0 {
		c.TargetGroupStickinessConfig.DurationSeconds = &sticky
	}
	for i := 0; i < len(pairs); i += 2 {
		c.TargetGroups = append(c.TargetGroups, types.TargetGroupTuple{TargetGroupArn: aws.String(pairs[i].(string)), Weight: aws.Int32(int32(pairs[i+1].(int)))})
	}
	return []types.Action{{Type: types.ActionTypeEnumForward, Order: aws.Int32(1), ForwardConfig: c}}
}

func read(t *testing.T, client *elb.Client) types.Rule {
	t.Helper()
	out, err := client.DescribeRules(t.Context(), &elb.DescribeRulesInput{RuleArns: []string{front}})
	require.NoError(t, err)
	require.Len(t, out.Rules, 1)
	return out.Rules[0]
}

func TestAModifiedRuleForwardsSo(t *testing.T) {
	lb, client := newBalancer(t)
	rests := read(t, client)
	assert.Equal(t, blue, aws.ToString(rests.Actions[0].TargetGroupArn), "one target group is told in both forms")
	assert.Equal(t, int32(7), aws.ToInt32(rests.Actions[0].ForwardConfig.TargetGroups[0].Weight))

	moved := weighted(60, blue, 0, green, 7)
	_, err := client.ModifyRule(t.Context(), &elb.ModifyRuleInput{RuleArn: &front, Actions: moved})
	require.NoError(t, err)
	assert.Equal(t, moved, read(t, client).Actions, "what was written is read, over the wire")
	assert.Equal(t, localalb.Forward{"blue": 0, "green": 7}, lb.Rules()[0].Action)
}

func TestWhatALBCannotDoChangesNothing(t *testing.T) {
	lb, client := newBalancer(t)
	before := lb.Rules()
	for name, row := range map[string]struct {
		rule    string
		actions []types.Action
		code    string
	}{
		"no such rule":                   {localaws.RuleARN("other"), weighted(0, blue, 1), "RuleNotFound"},
		"no such target group":           {front, weighted(0, blue, 1, localaws.TargetGroupARN("other"), 1), "TargetGroupNotFound"},
		"a target group of another name": {front, weighted(0, strings.Replace(green, "/green/", "/blue/", 1), 1), "TargetGroupNotFound"},
		"a weight of 1000":               {front, weighted(0, blue, 1000), "ValidationError"},
		"the same target group twice":    {front, weighted(0, blue, 1, blue, 2), "InvalidLoadBalancerAction"},
		"stickiness for too long":        {front, weighted(604801, blue, 1), "InvalidLoadBalancerAction"},
		"another kind of action": {front, []types.Action{{
			Type: types.ActionTypeEnumFixedResponse, FixedResponseConfig: &types.FixedResponseActionConfig{StatusCode: aws.String("200")},
		}}, "InvalidLoadBalancerAction"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client.ModifyRule(t.Context(), &elb.ModifyRuleInput{RuleArn: &row.rule, Actions: row.actions})
			assert.Equal(t, row.code, code(t, err))
			assert.Equal(t, before, lb.Rules())
		})
	}
	_, err := client.ModifyRule(t.Context(), &elb.ModifyRuleInput{RuleArn: &front, Actions: weighted(604800, blue, 999)})
	require.NoError(t, err, "the largest values")
}

func TestTargetsAreAsHealthyAsThere(t *testing.T) {
	_, client := newBalancer(t)
	states := func(arn string) (list []types.TargetHealth) {
		out, err := client.DescribeTargetHealth(t.Context(), &elb.DescribeTargetHealthInput{TargetGroupArn: &arn})
		require.NoError(t, err)
		for _, d := range out.TargetHealthDescriptions {
			list = append(list, *d.TargetHealth)
		}
		return list
	}
	require.Eventually(t, func() bool {
		return assert.ObjectsAreEqual([]types.TargetHealth{{State: types.TargetHealthStateEnumHealthy}}, states(blue))
	}, 10*time.Second, 10*time.Millisecond)
	assert.Empty(t, states(green))
	_, err := client.DescribeTargetHealth(t.Context(), &elb.DescribeTargetHealthInput{TargetGroupArn: aws.String("arn:other")})
	assert.Equal(t, "TargetGroupNotFound", code(t, err))
}

func TestTagsAreThoseOfTheRule(t *testing.T) {
	_, client := newBalancer(t)
	tag := func(key, value string) error {
		_, err := client.AddTags(t.Context(), &elb.AddTagsInput{ResourceArns: []string{front}, Tags: []types.Tag{{Key: &key, Value: &value}}})
		return err
	}
	require.NoError(t, tag("a", strings.Repeat("x", 256)))
	require.NoError(t, tag("b", "a_b.c:d/e=f+g-h@i j"))
	for key, value := range map[string]string{"c": strings.Repeat("x", 257), "d": "<", "aws:e": "x"} {
		assert.Equal(t, "InvalidParameterValue", code(t, tag(key, value)), key)
	}
	_, err := client.RemoveTags(t.Context(), &elb.RemoveTagsInput{ResourceArns: []string{front}, TagKeys: []string{"a", "z"}})
	require.NoError(t, err)
	out, err := client.DescribeTags(t.Context(), &elb.DescribeTagsInput{ResourceArns: []string{front}})
	require.NoError(t, err)
	require.Len(t, out.TagDescriptions, 1)
	assert.Equal(t, []types.Tag{{Key: aws.String("b"), Value: aws.String("a_b.c:d/e=f+g-h@i j")}}, out.TagDescriptions[0].Tags)
}
