// Command heartbeat is the Lambda function that keeps the registry true: a
// schedule makes it sweep, and operators send it commands from outside the VPC.
package main

import (
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/caarlos0/env/v11"
)

func main() {
	log := slog.New(lambdacontext.NewLogHandler())
	lambda.Start(newHandler(env.ToMap(os.Environ()), time.Now, log, os.Stdout))
}
