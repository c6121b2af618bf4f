// Command noop is a Lambda function that does nothing: the reference that the
// redirect function is measured beside.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"
)

// handler answers every event alike.
type handler struct{}

// Invoke returns the smallest answer that a load balancer takes.
func (handler) Invoke(context.Context, []byte) ([]byte, error) {
	return []byte(`{"statusCode":204,"headers":{},"isBase64Encoded":false}`), nil
}

func main() { lambda.Start(handler{}) }
