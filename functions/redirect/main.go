// Command redirect is the Lambda function behind an Application Load Balancer
// that answers the traffic of paused target groups with 307 to a healthy node.
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
	lambda.Start(newHandler(env.ToMap(os.Environ()), time.Now, log))
}
