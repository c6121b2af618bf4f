package localalb

import "time"

// Reasons of a [Record]: the error_reason words of ALB's access log for Lambda
// targets (user guide, "Access logs", error reason codes).
const (
	ReasonAccessDenied         = "LambdaAccessDenied"
	ReasonBadRequest           = "LambdaBadRequest"
	ReasonConnectionTimeout    = "LambdaConnectionTimeout"
	ReasonInvalidResponse      = "LambdaInvalidResponse"
	ReasonRequestTooLarge      = "LambdaRequestTooLarge"
	ReasonResourceNotFound     = "LambdaResourceNotFound"
	ReasonResponseTooLarge     = "LambdaResponseTooLarge"
	ReasonThrottling           = "LambdaThrottling"
	ReasonUnhandled            = "LambdaUnhandled"
	ReasonWebsocketUnsupported = "LambdaWebsocketNotSupported"
)

// StatusClientClosed is logged, never sent: the client left before the answer.
const StatusClientClosed = 460

// Record is the access log entry of one request.
type Record struct {
	Time         time.Time     // when the request header was complete
	Duration     time.Duration // until the answer was written
	Method       string
	URI          string // the request target as received
	Rule         string // name of the rule that matched, "" if refused before
	Group        string // target group it was forwarded to, "" if none
	Target       string // host:port of the target, "" for a function or none
	Status       int    // what the client got, or StatusClientClosed
	TargetStatus int    // what the target or function said, 0 if nothing valid
	Reason       string // one of the Reason words, "" if not about a function
	Detail       string // the cause in plain words, "" if all went well
}
