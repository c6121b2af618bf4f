package entry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/detourhq/detour/internal/child"
)

// App is the application's process, the first one of its own process group. It
// dies with this one, however that ends (on Linux).
type App struct {
	cmd     *exec.Cmd
	starter *child.Starter
	ended   chan struct{} // closed once the process has ended
	exit    Exit          // valid from then on
}

// Exit says how a process ended.
type Exit struct {
	Code   int    // its exit code, or 128 + the signal that killed it, as shells say it
	Reason string // "exit status 3", "signal: killed"
}

// What shells end with when a command cannot be started (POSIX, Shell Command
// Language, 2.8.2 "Exit Status for Commands").
const (
	cannotRun = 126
	notFound  = 127
)

// StartError says that the application could not be started.
type StartError struct{ Err error }

func (e *StartError) Error() string { return fmt.Sprintf("start the application: %v", e.Err) }

func (e *StartError) Unwrap() error { return e.Err }

// ExitCode returns 127 for a command that is not there, else 126.
func (e *StartError) ExitCode() int {
	if errors.Is(e.Err, exec.ErrNotFound) || errors.Is(e.Err, fs.ErrNotExist) {
		return notFound
	}
	return cannotRun
}

// leftOpen is how long the output of what outlives the application is waited for,
// where that is no file.
const leftOpen = time.Second

// Start starts argv, a command and its arguments, with this process's environment,
// folder and standard input. The error is a [StartError]. The orphans that the
// application leaves are taken care of as long as it runs.
func Start(ctx context.Context, argv []string, stdout, stderr io.Writer) (*App, error) {
	ctx = context.WithoutCancel(ctx) // its end is ordered, never that of a context
	a := &App{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...), starter: child.NewStarter(), ended: make(chan struct{})}
	a.cmd.Stdin, a.cmd.Stdout, a.cmd.Stderr = os.Stdin, stdout, stderr
	a.cmd.WaitDelay = leftOpen
	orphans := adopt()
	if err := a.starter.Start(a.cmd); err != nil {
		orphans.release()
		a.starter.Close()
		return nil, &StartError{Err: err}
	}
	go orphans.bury(a.cmd.Process.Pid, a.ended)
	go func() {
		err := a.cmd.Wait()
		a.exit = exitOf(a.cmd.ProcessState, err)
		a.starter.Close()
		close(a.ended)
	}()
	return a, nil
}

func exitOf(state *os.ProcessState, err error) Exit {
	if state == nil {
		return Exit{Code: 1, Reason: err.Error()}
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return Exit{Code: 128 + int(status.Signal()), Reason: state.String()}
	}
	return Exit{Code: state.ExitCode(), Reason: state.String()}
}

// Ended is closed once the application's own process has ended.
func (a *App) Ended() <-chan struct{} { return a.ended }

// Exit says how the application ended. It waits for that.
func (a *App) Exit() Exit {
	<-a.ended
	return a.exit
}

// signal sends s to the application's own process; one that has ended is fine.
func (a *App) signal(s os.Signal) error {
	if err := a.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %s to the application: %w", s, err)
	}
	return nil
}

// kill ends the application and all of its process group; one that has ended is
// fine.
func (a *App) kill() error {
	select {
	case <-a.ended: // its number may be another's by now
		return nil
	default:
		return child.Kill(a.cmd.Process)
	}
}
