package awsapi

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/codedeploy"
	deploytypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// services answer for the service prod/web and the deployment group shop/blue.
type services struct {
	advanced *ecstypes.AdvancedConfiguration
	state    deploytypes.DeploymentStatus // of the one deployment
	err      error
	calls    int
}

func (s *services) DescribeServices(ctx context.Context, in *ecs.DescribeServicesInput, _ ...func(*ecs.Options)) (*ecs.DescribeServicesOutput, error) {
	s.calls++
	if _, bounded := ctx.Deadline(); !bounded {
		return nil, errors.New("a call without an end")
	}
	if s.err != nil {
		return nil, s.err
	}
	if aws.ToString(in.Cluster) != "prod" || !slices.Equal(in.Services, []string{"web"}) {
		return &ecs.DescribeServicesOutput{Failures: []ecstypes.Failure{{Reason: aws.String("MISSING")}}}, nil
	}
	lb := []ecstypes.LoadBalancer{{ContainerName: aws.String("app")}, {AdvancedConfiguration: s.advanced}}
	return &ecs.DescribeServicesOutput{Services: []ecstypes.Service{{LoadBalancers: lb}}}, nil
}

func (s *services) ListDeployments(ctx context.Context, in *codedeploy.ListDeploymentsInput, _ ...func(*codedeploy.Options)) (*codedeploy.ListDeploymentsOutput, error) {
	s.calls++
	if _, bounded := ctx.Deadline(); !bounded {
		return nil, errors.New("a call without an end")
	}
	if s.err != nil {
		return nil, s.err
	}
	out := &codedeploy.ListDeploymentsOutput{}
	if *in.ApplicationName == "shop" && *in.DeploymentGroupName == "blue" && slices.Contains(in.IncludeOnlyStatuses, s.state) {
		out.Deployments = []string{"d-1"}
	}
	return out, nil
}

const rule = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:listener-rule/app/web/1/2/3"

func TestBusy(t *testing.T) {
	production := &ecstypes.AdvancedConfiguration{ProductionListenerRule: aws.String(rule)}
	for _, row := range []struct {
		name     string
		sources  []string
		services services
		why      string
	}{
		{"a service's production rule", []string{"ecs:prod/web"}, services{advanced: production}, "ECS service prod/web"},
		{"a service's test rule", []string{"ecs:prod/web"}, services{advanced: &ecstypes.AdvancedConfiguration{TestListenerRule: aws.String(rule)}}, "ECS service prod/web"},
		{"another rule of the service", []string{"ecs:prod/web"}, services{advanced: &ecstypes.AdvancedConfiguration{ProductionListenerRule: aws.String(rule + "4")}}, ""},
		{"a service that is deployed by rolling", []string{"ecs:prod/web"}, services{}, ""},
		{"another service", []string{"ecs:prod/other"}, services{advanced: production}, ""},
		{"a cluster that does not exist", []string{"ecs:prod/web"}, services{err: &ecstypes.ClusterNotFoundException{}}, ""},
		{"a deployment in progress", []string{"codedeploy:shop/blue"}, services{state: deploytypes.DeploymentStatusInProgress}, "deployment d-1 of shop/blue"},
		{"a deployment that waits to shift traffic", []string{"codedeploy:shop/blue"}, services{state: deploytypes.DeploymentStatusReady}, "deployment d-1"},
		{"a deployment that bakes", []string{"codedeploy:shop/blue"}, services{state: deploytypes.DeploymentStatusBaking}, "deployment d-1"},
		{"a deployment that is over", []string{"codedeploy:shop/blue"}, services{state: deploytypes.DeploymentStatusSucceeded}, ""},
		{"a deployment of another group", []string{"codedeploy:shop/green"}, services{state: deploytypes.DeploymentStatusInProgress}, ""},
		{"an application that does not exist", []string{"codedeploy:shop/blue"}, services{err: &deploytypes.ApplicationDoesNotExistException{}}, ""},
		{"a deployment group that does not exist", []string{"codedeploy:shop/blue"}, services{err: &deploytypes.DeploymentGroupDoesNotExistException{}}, ""},
		{"the second source", []string{"ecs:prod/other", "codedeploy:shop/blue"}, services{state: deploytypes.DeploymentStatusCreated}, "deployment d-1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			why, err := deployers{&row.services, &row.services}.busy(t.Context(), cluster.Group{Sources: row.sources}, rule)
			require.NoError(t, err)
			assert.Equal(t, row.why == "", why == "", why)
			assert.Contains(t, why, row.why)
		})
	}
}

func TestAServiceThatDoesNotAnswerIsAnError(t *testing.T) {
	lost := errors.New("no route to host")
	for _, source := range []string{"ecs:prod/web", "codedeploy:shop/blue"} {
		s := &services{err: lost}
		_, err := deployers{s, s}.busy(t.Context(), cluster.Group{Sources: []string{source}}, rule)
		assert.ErrorIs(t, err, lost)
	}
}

func TestNobodyIsAskedWithoutSuchASource(t *testing.T) {
	s := &services{err: errors.New("asked")}
	why, err := deployers{s, s}.busy(t.Context(), cluster.Group{Sources: []string{"asg:web", "nonsense"}}, rule)
	require.NoError(t, err)
	assert.Empty(t, why)
	assert.Zero(t, s.calls)
}
