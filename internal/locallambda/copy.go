package locallambda

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/detourhq/detour/internal/child"
)

// funcCopy is one process of the function with its Runtime API: what Lambda
// calls an execution environment. One goroutine at a time drives it.
type funcCopy struct {
	api    *runtimeAPI
	cmd    *exec.Cmd
	freeze bool

	exited chan struct{} // closed when the process has ended and was waited for
}

// newCopy prepares a process that dies with ctx. Its environment is complete,
// its start is the caller's.
func newCopy(ctx context.Context, cfg Config) (*funcCopy, error) {
	api, err := newRuntimeAPI(ctx, cfg.arn())
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, cfg.Binary)
	cmd.Dir = filepath.Dir(cfg.Binary)
	cmd.Env = cfg.environ(api.addr, "$LATEST/"+newID())
	cmd.Stdout, cmd.Stderr = cfg.Log, cfg.Log
	cmd.Cancel = func() error { return child.Kill(cmd.Process) }
	cmd.WaitDelay = time.Second // for what its own children keep open
	return &funcCopy{api: api, cmd: cmd, freeze: !cfg.NoFreeze, exited: make(chan struct{})}, nil
}

// reap waits for the process to end, which is no error however it ends.
func (c *funcCopy) reap() {
	_ = c.cmd.Wait()
	c.api.close()
	close(c.exited)
}

// kill ends the process and waits until it has ended.
func (c *funcCopy) kill() {
	if c.alive() {
		_ = child.Kill(c.cmd.Process)
	}
	<-c.exited
}

func (c *funcCopy) alive() bool {
	select {
	case <-c.exited:
		return false
	default:
		return true
	}
}

// await returns once the copy asks for its first invocation. If it does not,
// the copy is dead on return and the error says why.
func (c *funcCopy) await(timeout time.Duration) error {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-c.api.asked:
		return nil
	case got := <-c.api.answers:
		c.kill()
		return got.err
	case <-c.exited:
		return c.exitError()
	case <-timer.C:
		c.kill()
		return fmt.Errorf("no request for work within %s: %w", timeout, ErrTimeout)
	}
}

// serve gives in to the copy and returns its answer once it asks for the next
// one, ends, or runs past the deadline; then it is dead on return.
func (c *funcCopy) serve(in invocation) ([]byte, error) {
	timer := time.NewTimer(time.Until(in.deadline))
	defer timer.Stop()
	select {
	case c.api.work <- in:
	case <-c.exited:
		return nil, c.exitError()
	case <-timer.C:
		c.kill()
		return nil, ErrTimeout
	}
	var got answer
	select {
	case got = <-c.api.answers:
	case <-c.exited:
		return nil, c.exitError()
	case <-c.api.asked:
		c.kill()
		return nil, &FunctionError{exitError, "asked for the next invocation without an answer to this one"}
	case <-timer.C:
		c.kill()
		return nil, ErrTimeout
	}
	select {
	case <-c.api.asked:
	case <-c.exited: // as after a panic
	case <-timer.C:
		c.kill()
	}
	return got.payload, got.err
}

func (c *funcCopy) exitError() error {
	return &FunctionError{exitError, c.cmd.ProcessState.String()}
}

// stop freezes the copy and tells whether it did.
func (c *funcCopy) stop() bool {
	return c.freeze && c.alive() && child.Stop(c.cmd.Process) == nil
}

// thaw undoes stop.
func (c *funcCopy) thaw() {
	if c.freeze && c.alive() {
		_ = child.Continue(c.cmd.Process)
	}
}
