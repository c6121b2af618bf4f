package awsevents

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// hearing is what a call of AWS came to.
type hearing int

const (
	accepted hearing = iota
	already          // it has been answered, or nobody waits for an answer
	inactive         // there is no such lifecycle action: not yet, or not any more
	refusal          // it will not be taken, not as it is
	silence          // no answer, or that AWS is too busy
)

// answeredCodes are CodeDeploy's for a hook that nobody waits at any more.
var answeredCodes = []string{
	"LifecycleEventAlreadyCompletedException", "InvalidLifecycleEventHookExecutionIdException", "DeploymentDoesNotExistException",
}

func hear(err error) hearing {
	if err == nil {
		return accepted
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		return silence
	}
	_, busy := retry.DefaultThrottleErrorCodes[api.ErrorCode()]
	var response *smithyhttp.ResponseError
	failed := errors.As(err, &response) && response.HTTPStatusCode() >= http.StatusInternalServerError
	switch {
	case slices.Contains(answeredCodes, api.ErrorCode()):
		return already
	case api.ErrorCode() == "ValidationError" && strings.Contains(api.ErrorMessage(), "No active Lifecycle Action"):
		return inactive
	case busy, failed:
		return silence
	}
	return refusal
}

func (e *Event) asg() string { return strings.TrimPrefix(e.Source, "asg:") }

// token is nil where the event had none: the instance names the action too.
func (e *Event) token() *string {
	if e.Token == "" {
		return nil
	}
	return aws.String(e.Token)
}
