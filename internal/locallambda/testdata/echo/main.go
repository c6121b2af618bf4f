// Command echo is a Lambda function that does what its event asks for, so that
// a host can be tested with a real one.
package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

type event struct {
	Do   string `json:"do"`
	Text string `json:"text"`
}

// reply tells what the function saw.
type reply struct {
	Text     string   `json:"text"`
	Request  string   `json:"request"`
	ARN      string   `json:"arn"`
	LeftMS   int64    `json:"left_ms"` // until the deadline
	Ticks    int64    `json:"ticks"`   // of a goroutine that runs in between
	Pid      int      `json:"pid"`
	Calls    int64    `json:"calls"` // of this copy
	Environ  []string `json:"environ"`
	Location string   `json:"location"` // working directory
}

type function struct{ ticks, calls atomic.Int64 }

func main() {
	switch os.Getenv("BREAK") {
	case "exit":
		os.Exit(7)
	case "report":
		report()
		select {}
	case "ask":
		ask()
		ask()
	}
	f := &function{}
	go f.tick()
	lambda.Start(f.handle)
}

// report tells the Runtime API that this copy cannot start.
func report() {
	req, err := http.NewRequest(http.MethodPost, api()+"init/error", strings.NewReader(os.Getenv("REPORT")))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Lambda-Runtime-Function-Error-Type", "Runtime.Unknown")
	if _, err := http.DefaultClient.Do(req); err != nil {
		panic(err)
	}
}

// ask takes an event and does not answer it.
func ask() {
	if _, err := http.Get(api() + "invocation/next"); err != nil {
		panic(err)
	}
}

func api() string {
	return "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/"
}

func (f *function) tick() {
	for range time.Tick(time.Millisecond) {
		f.ticks.Add(1)
	}
}

func (f *function) handle(ctx context.Context, e event) (reply, error) {
	calls := f.calls.Add(1)
	switch e.Do {
	case "fail":
		return reply{}, errors.New(e.Text)
	case "panic":
		panic(e.Text)
	case "exit":
		os.Exit(3)
	case "hang":
		select {}
	case "wait": // until the file called Text appears
		for !exists(e.Text) {
			time.Sleep(time.Millisecond)
		}
	case "large":
		e.Text = strings.Repeat("x", 6<<20)
	case "log":
		os.Stderr.WriteString(e.Text + "\n")
	}
	r := reply{Text: e.Text, Ticks: f.ticks.Load(), Pid: os.Getpid(), Calls: calls, Environ: os.Environ()}
	r.Location, _ = os.Getwd()
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		r.Request, r.ARN = lc.AwsRequestID, lc.InvokedFunctionArn
	}
	if deadline, ok := ctx.Deadline(); ok {
		r.LeftMS = time.Until(deadline).Milliseconds()
	}
	return r, nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
