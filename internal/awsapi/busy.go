package awsapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/codedeploy"
	deploytypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/detourhq/detour/pkg/cluster"
)

// askTimeout bounds one question about a deployment.
const askTimeout = 2 * time.Second

// deployers are those services of AWS that change listener rules by themselves.
type deployers struct {
	ecs interface {
		DescribeServices(context.Context, *ecs.DescribeServicesInput, ...func(*ecs.Options)) (*ecs.DescribeServicesOutput, error)
	}
	codedeploy interface {
		ListDeployments(context.Context, *codedeploy.ListDeploymentsInput, ...func(*codedeploy.Options)) (*codedeploy.ListDeploymentsOutput, error)
	}
}

// Busy returns what tells why a source of a group is about to change a rule, as
// [rules.Config] wants it. An ECS service has the rules that it names for
// production and test traffic at any time; CodeDeploy those of its group while a
// deployment goes on. A source that does not exist changes nothing.
func Busy(c aws.Config) func(ctx context.Context, g cluster.Group, rule string) (why string, err error) {
	return deployers{ecs.NewFromConfig(c), codedeploy.NewFromConfig(c)}.busy
}

func (d deployers) busy(ctx context.Context, g cluster.Group, rule string) (why string, err error) {
	for _, source := range g.Sources {
		kind, owner, name, _ := cluster.ParseSource(source)
		switch kind {
		case cluster.ECS:
			why, err = d.service(ctx, owner, name, rule)
		case cluster.CodeDeploy:
			why, err = d.deployment(ctx, owner, name)
		}
		if why != "" || err != nil {
			return why, err
		}
	}
	return "", nil
}

// service asks for the load balancers of an ECS service (AdvancedConfiguration in
// the ECS API reference). One that does not exist is told among the failures.
func (d deployers) service(ctx context.Context, in, name, rule string) (why string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	out, err := d.ecs.DescribeServices(ctx, &ecs.DescribeServicesInput{Cluster: &in, Services: []string{name}})
	var gone *ecstypes.ClusterNotFoundException
	if errors.As(err, &gone) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("describe ECS service %s/%s: %w", in, name, err)
	}
	for _, s := range out.Services {
		for _, lb := range s.LoadBalancers {
			a := lb.AdvancedConfiguration
			if a != nil && (aws.ToString(a.ProductionListenerRule) == rule || aws.ToString(a.TestListenerRule) == rule) {
				return "the ECS service " + in + "/" + name + " moves the rule itself", nil
			}
		}
	}
	return "", nil
}

// ongoing are the states in which a deployment may still change the rule.
var ongoing = []deploytypes.DeploymentStatus{
	deploytypes.DeploymentStatusCreated, deploytypes.DeploymentStatusQueued, deploytypes.DeploymentStatusInProgress,
	deploytypes.DeploymentStatusBaking, deploytypes.DeploymentStatusReady,
}

func (d deployers) deployment(ctx context.Context, application, group string) (why string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	out, err := d.codedeploy.ListDeployments(ctx, &codedeploy.ListDeploymentsInput{
		ApplicationName: &application, DeploymentGroupName: &group, IncludeOnlyStatuses: ongoing,
	})
	var noApplication *deploytypes.ApplicationDoesNotExistException
	var noGroup *deploytypes.DeploymentGroupDoesNotExistException
	if errors.As(err, &noApplication) || errors.As(err, &noGroup) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("list deployments of %s/%s: %w", application, group, err)
	}
	if len(out.Deployments) > 0 {
		return "CodeDeploy's deployment " + out.Deployments[0] + " of " + application + "/" + group + " is in progress", nil
	}
	return "", nil
}
