package locallambda

import (
	"encoding/json"
	"errors"
	"fmt"
)

var (
	// ErrThrottled reports that every copy is busy and no more may start.
	ErrThrottled = errors.New("locallambda: throttled, all copies are busy")
	// ErrTimeout reports an invocation that was not answered before its
	// deadline. Its copy has been killed.
	ErrTimeout = errors.New("locallambda: function timed out")
	// ErrTooLarge reports a payload of more than MaxPayload bytes.
	ErrTooLarge = errors.New("locallambda: payload exceeds 6 MB")
	// ErrClosed reports the use of a closed Host.
	ErrClosed = errors.New("locallambda: host closed")
)

// exitError is the Type of the FunctionError for a process that ended without
// an answer.
const exitError = "Runtime.ExitError"

// FunctionError is an invocation that the function itself failed: it returned
// an error, panicked, or its process ended (Type Runtime.ExitError). Through a
// load balancer the client would see 502.
type FunctionError struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

// Error returns type and message.
func (e *FunctionError) Error() string {
	return fmt.Sprintf("locallambda: function failed: %s: %s", e.Type, e.Message)
}

// decodeError reads the body of a runtime's error report. One that is not as
// the Runtime API wants it becomes the message, under the type of its header.
func decodeError(body []byte, header string) *FunctionError {
	e := &FunctionError{}
	if err := json.Unmarshal(body, e); err != nil || e.Type == "" {
		return &FunctionError{Type: header, Message: string(body)}
	}
	return e
}
