package localaws_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/codedeploy"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/localaws"
)

// serve returns what the SDK's clients need to reach s.
func serve(t *testing.T, s *localaws.Server) aws.Config {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return aws.Config{
		Region: "us-east-1", BaseEndpoint: &server.URL, Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "made", SecretAccessKey: "up"}, nil
		}),
	}
}

// code is that of an error of AWS's.
func code(t *testing.T, err error) string {
	t.Helper()
	var e smithy.APIError
	require.ErrorAs(t, err, &e)
	return e.ErrorCode()
}

func TestALifecycleActionIsCompletedOnce(t *testing.T) {
	var s localaws.AutoScaling
	client := autoscaling.NewFromConfig(serve(t, &localaws.Server{AutoScaling: &s}))
	completed := s.Wait("web", "drain", "i-1")
	beat := func(instance string) error {
		_, err := client.RecordLifecycleActionHeartbeat(t.Context(), &autoscaling.RecordLifecycleActionHeartbeatInput{
			AutoScalingGroupName: aws.String("web"), LifecycleHookName: aws.String("drain"), InstanceId: &instance,
		})
		return err
	}
	complete := func(hook string) error {
		_, err := client.CompleteLifecycleAction(t.Context(), &autoscaling.CompleteLifecycleActionInput{
			AutoScalingGroupName: aws.String("web"), LifecycleHookName: &hook, InstanceId: aws.String("i-1"), LifecycleActionResult: aws.String("CONTINUE"),
		})
		return err
	}
	require.NoError(t, beat("i-1"))
	assert.Equal(t, "ValidationError", code(t, beat("i-2")))
	require.ErrorContains(t, complete("ready"), "No active Lifecycle Action found with instance ID i-1")
	assert.Empty(t, completed)
	require.NoError(t, complete("drain"))
	assert.Equal(t, "CONTINUE", <-completed)
	assert.Equal(t, "ValidationError", code(t, complete("drain")))
	require.Error(t, beat("i-1"), "nothing waits any more")
	assert.Equal(t, []localaws.Answer{{Of: "web/drain/i-1", Result: "CONTINUE"}}, s.Answers())
	assert.Equal(t, 2, s.Refused())
	assert.Equal(t, 1, s.Beats())
}

func TestAHookGetsItsStatusOnce(t *testing.T) {
	var s localaws.CodeDeploy
	client := codedeploy.NewFromConfig(serve(t, &localaws.Server{CodeDeploy: &s}))
	status := s.Wait("d-1", "e1")
	put := func() error {
		out, err := client.PutLifecycleEventHookExecutionStatus(t.Context(), &codedeploy.PutLifecycleEventHookExecutionStatusInput{
			DeploymentId: aws.String("d-1"), LifecycleEventHookExecutionId: aws.String("e1"), Status: "Succeeded",
		})
		if err == nil {
			assert.Equal(t, "e1", aws.ToString(out.LifecycleEventHookExecutionId))
		}
		return err
	}
	require.NoError(t, put())
	assert.Equal(t, "Succeeded", <-status)
	assert.Equal(t, "LifecycleEventAlreadyCompletedException", code(t, put()))
	assert.Equal(t, 1, s.Refused())
	assert.Len(t, s.Answers(), 1)
}

type functionFunc func(ctx context.Context, payload []byte) ([]byte, error)

func (f functionFunc) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return f(ctx, payload)
}

func TestAFunctionIsInvoked(t *testing.T) {
	client := lambda.NewFromConfig(serve(t, &localaws.Server{Functions: map[string]localaws.Function{
		"echo":   functionFunc(func(_ context.Context, payload []byte) ([]byte, error) { return payload, nil }),
		"broken": functionFunc(func(context.Context, []byte) ([]byte, error) { return nil, errors.New("no \"luck\"") }),
	}}))
	invoke := func(name string) (*lambda.InvokeOutput, error) {
		return client.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: &name, Payload: []byte(`{"a":1}`)})
	}
	out, err := invoke("echo")
	require.NoError(t, err)
	assert.JSONEq(t, `{"a":1}`, string(out.Payload))
	assert.Nil(t, out.FunctionError)
	out, err = invoke("broken")
	require.NoError(t, err)
	assert.Equal(t, "Unhandled", aws.ToString(out.FunctionError))
	assert.JSONEq(t, `{"errorMessage":"no \"luck\""}`, string(out.Payload))
	_, err = invoke("other")
	assert.Equal(t, "ResourceNotFoundException", code(t, err))
}

func TestWhatIsNotThereIsRefused(t *testing.T) {
	c := serve(t, &localaws.Server{})
	_, err := elb.NewFromConfig(c).DescribeRules(t.Context(), &elb.DescribeRulesInput{})
	assert.Equal(t, "InvalidAction", code(t, err))
	_, err = codedeploy.NewFromConfig(c).ListApplications(t.Context(), &codedeploy.ListApplicationsInput{})
	assert.Equal(t, "UnknownOperationException", code(t, err))
}
