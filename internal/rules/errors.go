package rules

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/smithy-go"
)

// ErrUnreachable reports that AWS did not answer, or took no more calls, or else
// said nothing of the rule. What a pass had not done by then it has left.
var ErrUnreachable = errors.New("rules: AWS is unreachable")

// ErrNoTime reports that the context would end before the next write's turn; it is
// a [context.DeadlineExceeded] too.
var ErrNoTime = fmt.Errorf("rules: no time is left for the next write: %w", context.DeadlineExceeded)

// errOvertaken ends the writes of a pass whose snapshot is no longer the newest.
var errOvertaken = errors.New("the registry has changed")

// Codes of AWS's errors ("Common errors" of the Elastic Load Balancing API).
var (
	throttleCodes = []string{"Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequestsException"}
	denyCodes     = []string{"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}
	lostCodes     = []string{"RuleNotFound", "ListenerNotFound", "LoadBalancerNotFound"}
	outsideCodes  = []string{"InternalFailure", "InternalError", "ServerException", "ServiceUnavailable", "ExpiredToken", "InvalidClientTokenId", "SignatureDoesNotMatch", "RequestExpired"}
)

func code(err error) string {
	var e smithy.APIError
	if errors.As(err, &e) {
		return e.ErrorCode()
	}
	return ""
}

func isThrottled(err error) bool { return slices.Contains(throttleCodes, code(err)) }

// isUnheard reports whether err says nothing of what a call was about: AWS has not
// taken it, as far as anybody knows.
func isUnheard(err error) bool {
	c := code(err)
	return err != nil && (c == "" || isThrottled(err) || slices.Contains(outsideCodes, c))
}

func errGone() error { return &stateError{state: Refused, why: "the rule does not exist", gone: true} }

// judge turns the error of a call into what it says of the rule; one that says
// nothing wraps [ErrUnreachable] or is that of ctx.
func judge(ctx context.Context, verb string, err error) error {
	var e smithy.APIError
	switch c := code(err); {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", verb, ctx.Err())
	case isUnheard(err):
		return fmt.Errorf("%s: %w: %w", verb, ErrUnreachable, err)
	case slices.Contains(lostCodes, c):
		return errGone()
	case errors.As(err, &e) && slices.Contains(denyCodes, c):
		return &stateError{state: Denied, why: verb + ": " + e.ErrorMessage()}
	default:
		return &stateError{state: Refused, why: fmt.Sprintf("%s: %s: %s", verb, c, e.ErrorMessage())}
	}
}
