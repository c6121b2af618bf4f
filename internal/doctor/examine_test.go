package doctor_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/doctor"
	"github.com/detourhq/detour/internal/mototest"
	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/internal/rules"
	"github.com/detourhq/detour/pkg/cluster"
)

const region = "eu-central-1"

func open(t *testing.T, url string) *cluster.Registry {
	t.Helper()
	client, err := cluster.Dial(url, time.Second)
	require.NoError(t, err)
	r, err := cluster.NewRegistry(client, "test")
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// cloud is AWS as moto imitates it, with one load balancer.
type cloud struct {
	elb     *elb.Client
	scaling *autoscaling.Client
	vpc     string
	lb      string
}

func newCloud(t *testing.T) cloud {
	t.Helper()
	server := mototest.Start(t)
	credentials := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "made-up", SecretAccessKey: "made-up"}, nil
	})
	c := cloud{
		elb:     elb.New(elb.Options{Region: region, BaseEndpoint: &server.URL, Credentials: credentials}),
		scaling: autoscaling.New(autoscaling.Options{Region: region, BaseEndpoint: &server.URL, Credentials: credentials}),
	}
	var subnets []string
	subnets, c.vpc = server.Subnets(t, region)
	lb, err := c.elb.CreateLoadBalancer(t.Context(), &elb.CreateLoadBalancerInput{Name: aws.String("web"), Subnets: subnets})
	require.NoError(t, err)
	c.lb = *lb.LoadBalancers[0].LoadBalancerArn
	_, err = c.scaling.CreateLaunchConfiguration(t.Context(), &autoscaling.CreateLaunchConfigurationInput{
		LaunchConfigurationName: aws.String("web"), ImageId: aws.String("ami-12c6146b"), InstanceType: aws.String("t3.micro"),
	})
	require.NoError(t, err)
	_, err = c.scaling.CreateAutoScalingGroup(t.Context(), &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String("web"), LaunchConfigurationName: aws.String("web"), MinSize: aws.Int32(0), MaxSize: aws.Int32(1),
		AvailabilityZones: []string{region + "a"},
	})
	require.NoError(t, err)
	_, err = c.scaling.PutLifecycleHook(t.Context(), &autoscaling.PutLifecycleHookInput{
		AutoScalingGroupName: aws.String("web"), LifecycleHookName: aws.String("drain"), LifecycleTransition: aws.String("autoscaling:EC2_INSTANCE_TERMINATING"),
		HeartbeatTimeout: aws.Int32(7200), DefaultResult: aws.String("CONTINUE"),
	})
	require.NoError(t, err)
	return c
}

func (c cloud) targetGroup(t *testing.T, in elb.CreateTargetGroupInput) string {
	t.Helper()
	out, err := c.elb.CreateTargetGroup(t.Context(), &in)
	require.NoError(t, err)
	return *out.TargetGroups[0].TargetGroupArn
}

// rule makes a listener with a rule that forwards to tg.
func (c cloud) rule(t *testing.T, tg string) string {
	t.Helper()
	forward := []types.Action{{Type: types.ActionTypeEnumForward, TargetGroupArn: &tg}}
	l, err := c.elb.CreateListener(t.Context(), &elb.CreateListenerInput{LoadBalancerArn: &c.lb, Protocol: types.ProtocolEnumHttp, Port: aws.Int32(80), DefaultActions: forward})
	require.NoError(t, err)
	r, err := c.elb.CreateRule(t.Context(), &elb.CreateRuleInput{
		ListenerArn: l.Listeners[0].ListenerArn, Priority: aws.Int32(1), Actions: forward,
		Conditions: []types.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{"/*"}}},
	})
	require.NoError(t, err)
	return *r.Rules[0].RuleArn
}

func (c cloud) doctor() *doctor.AWS {
	return &doctor.AWS{Rules: rules.New(c.elb, rules.Config{Cluster: "test", CallTimeout: 5 * time.Second}, time.Now, slog.New(slog.DiscardHandler)), Balancer: c.elb, AutoScaling: c.scaling}
}

// said lists "SEVERITY CHECK ABOUT" of all findings.
func said(r doctor.Report) (list []string) {
	for _, f := range r.Findings {
		list = append(list, string(f.Severity)+" "+f.Check+" "+f.About)
	}
	return list
}

func skipped(r doctor.Report) (list []string) {
	for _, s := range r.Skipped {
		list = append(list, s.Check)
	}
	return list
}

// One set-up, from a real registry and over AWS's wire, with a fault in each part.
func TestASetUpIsExamined(t *testing.T) {
	r, c := open(t, redistest.Start(t).URL), newCloud(t)
	blue := c.targetGroup(t, elb.CreateTargetGroupInput{Name: aws.String("blue"), Protocol: types.ProtocolEnumHttp, Port: aws.Int32(80), VpcId: &c.vpc, TargetType: types.TargetTypeEnumIp})
	sink := c.targetGroup(t, elb.CreateTargetGroupInput{Name: aws.String("detour"), TargetType: types.TargetTypeEnumLambda})
	front := c.rule(t, blue)
	for id, group := range map[string]string{"b1": "blue", "b2": "blue", "g1": "green", "g2": "green"} {
		d, _, err := r.Register(t.Context(), cluster.Descriptor{ID: id, Group: group, Endpoint: "https://" + id + ".example.com", Weight: 1}, cluster.Report{Status: cluster.Active})
		require.NoError(t, err)
		_, err = r.Pulse(t.Context(), id, d.Generation, &cluster.Figures{})
		require.NoError(t, err)
	}
	_, err := r.ChangeGroup(t.Context(), "blue", func(g *cluster.Group) error {
		g.TargetGroup, g.DetourTargetGroup, g.Rules, g.Sources = blue, sink, []string{front, front + "0"}, []string{"asg:web", "asg:gone"}
		return nil
	})
	require.NoError(t, err)
	_, err = r.ChangeGroup(t.Context(), "green", func(g *cluster.Group) error { g.TargetGroup = blue + "0"; return nil })
	require.NoError(t, err)
	require.NoError(t, r.SwapWork(t.Context(), nil, cluster.RulePrefix+front, "", `{"state":"contested","why":"somebody changes it back"}`))

	config := doctor.Config{Local: true, PulseEvery: 5 * time.Second, PulseTimeout: 15 * time.Second, SweepEvery: 10 * time.Second, PruneAfter: 2 * time.Minute}
	report := doctor.New(r, config, c.doctor(), time.Now).Examine(t.Context())
	assert.Empty(t, report.Skipped)
	findings := slices.DeleteFunc(said(report), func(s string) bool { return s == "warning round-trip " })
	assert.Equal(t, []string{
		"wrong sweep ", "wrong rule-state " + front, "wrong rule " + front + "0", "wrong multi-value " + sink, "note health-check " + blue,
		"wrong health-check " + blue + "0",
		"wrong lifecycle-hooks asg:gone", "wrong lifecycle-hooks asg:web", "warning lifecycle-hooks asg:web/drain",
	}, findings)

	alone := doctor.New(r, config, nil, time.Now).Examine(t.Context())
	assert.Equal(t, []string{"rule", "rule-forward", "rule-claim", "redirect-target-group", "load-balancer", "multi-value", "health-check", "lifecycle-hooks"}, skipped(alone))
	assert.Contains(t, alone.Skipped[0].Why, "AWS_REGION")
	assert.Equal(t, report.Checked-8, alone.Checked)
}

func TestARegistryThatIsNotReachedIsTheOneFinding(t *testing.T) {
	report := doctor.New(open(t, "redis://127.0.0.1:1"), doctor.Config{}, nil, time.Now).Examine(t.Context())
	assert.Equal(t, []string{"wrong registry "}, said(report))
	assert.Equal(t, 1, report.Wrong)
	assert.NotEmpty(t, report.Skipped)
}

// closed is AWS that lets nobody look.
type closed struct{}

var errClosed = errors.New("AccessDenied")

func (closed) Look(context.Context, []string) (map[string]rules.Found, error) { return nil, errClosed }

func (closed) DescribeTargetGroups(context.Context, *elb.DescribeTargetGroupsInput, ...func(*elb.Options)) (*elb.DescribeTargetGroupsOutput, error) {
	return nil, errClosed
}

func (closed) DescribeTargetGroupAttributes(context.Context, *elb.DescribeTargetGroupAttributesInput, ...func(*elb.Options)) (*elb.DescribeTargetGroupAttributesOutput, error) {
	return nil, errClosed
}

func (closed) DescribeAutoScalingGroups(context.Context, *autoscaling.DescribeAutoScalingGroupsInput, ...func(*autoscaling.Options)) (*autoscaling.DescribeAutoScalingGroupsOutput, error) {
	return nil, errClosed
}

func (closed) DescribeLifecycleHooks(context.Context, *autoscaling.DescribeLifecycleHooksInput, ...func(*autoscaling.Options)) (*autoscaling.DescribeLifecycleHooksOutput, error) {
	return nil, errClosed
}

// noARN is AWS asked for a target group by what is no ARN.
type noARN struct{ closed }

func (noARN) DescribeTargetGroups(context.Context, *elb.DescribeTargetGroupsInput, ...func(*elb.Options)) (*elb.DescribeTargetGroupsOutput, error) {
	return nil, &smithy.GenericAPIError{Code: "ValidationError", Message: "'arn' is not a valid target group ARN"}
}

func TestWhatIsNoARNIsTheNameOfNoTargetGroup(t *testing.T) {
	r := open(t, redistest.Start(t).URL)
	_, err := r.ChangeGroup(t.Context(), "blue", func(g *cluster.Group) error { g.TargetGroup = "arn"; return nil })
	require.NoError(t, err)
	report := doctor.New(r, doctor.Config{}, &doctor.AWS{Rules: closed{}, Balancer: noARN{}, AutoScaling: closed{}}, time.Now).Examine(t.Context())
	assert.Contains(t, said(report), "wrong health-check arn")
}

func TestWhatMayNotBeLookedAtIsSkippedAndNamed(t *testing.T) {
	r := open(t, redistest.Start(t).URL)
	_, err := r.ChangeGroup(t.Context(), "blue", func(g *cluster.Group) error {
		g.TargetGroup, g.Sources = "arn", []string{"asg:web"}
		return nil
	})
	require.NoError(t, err)
	report := doctor.New(r, doctor.Config{}, &doctor.AWS{Rules: closed{}, Balancer: closed{}, AutoScaling: closed{}}, time.Now).Examine(t.Context())
	assert.Len(t, report.Skipped, 8)
	for _, s := range report.Skipped {
		assert.Contains(t, s.Why, "AccessDenied", s.Check)
	}
}
