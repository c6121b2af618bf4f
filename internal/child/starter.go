package child

import (
	"errors"
	"os/exec"
	"runtime"
)

// ErrClosed reports a Start on a closed Starter.
var ErrClosed = errors.New("child: starter closed")

// Starter starts child processes. On Linux the kernel kills a child of its as
// soon as this process ends, however hard it ends; elsewhere only an orderly
// end, which must kill the children itself, leaves none behind.
//
// The kernel's promise is tied to the thread that started the child, not to
// the process (prctl(2), PR_SET_PDEATHSIG; golang/go#27505). So a Starter
// starts everything on one thread of its own, which it keeps until Close.
type Starter struct {
	starts chan start
	done   chan struct{}
}

type start struct {
	cmd *exec.Cmd
	err chan error
}

// NewStarter returns a Starter, to be closed when its children have ended.
func NewStarter() *Starter {
	s := &Starter{starts: make(chan start), done: make(chan struct{})}
	go s.run()
	return s
}

// Start starts cmd in a process group of its own; the rest is the caller's, as
// after cmd.Start. It replaces cmd.SysProcAttr.
func (s *Starter) Start(cmd *exec.Cmd) error {
	req := start{cmd: cmd, err: make(chan error, 1)}
	select {
	case s.starts <- req:
		return <-req.err
	case <-s.done:
		return ErrClosed
	}
}

// Close gives the thread back. Children that still run may then die at any
// time. Close must be called once.
func (s *Starter) Close() { close(s.done) }

func (s *Starter) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for {
		select {
		case req := <-s.starts:
			req.cmd.SysProcAttr = attributes()
			req.err <- req.cmd.Start()
		case <-s.done:
			return
		}
	}
}
