// Command detour takes nodes out of service on AWS without a user noticing: one
// binary for operators, deployments and the nodes themselves.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/caarlos0/env/v11"
)

// version is set by the build.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	a := &app{environment: env.ToMap(os.Environ()), stdout: os.Stdout, stderr: os.Stderr, terminal: isTerminal(os.Stderr)}
	code := a.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
