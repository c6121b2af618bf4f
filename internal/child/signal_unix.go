//go:build unix

package child

import (
	"fmt"
	"os"
	"syscall"
)

// CanStop tells whether Stop and Continue work on this system.
const CanStop = true

// Stop stops p and its whole process group (SIGSTOP) until Continue. p must
// have been started by a Starter and not been waited for.
func Stop(p *os.Process) error { return signalGroup(p, syscall.SIGSTOP) }

// Continue lets a stopped process group run on (SIGCONT). One that runs is
// left alone.
func Continue(p *os.Process) error { return signalGroup(p, syscall.SIGCONT) }

// Kill ends p and its whole process group at once, stopped or not.
func Kill(p *os.Process) error { return signalGroup(p, syscall.SIGKILL) }

// Terminate asks p, and no other process of its group, to end (SIGTERM).
func Terminate(p *os.Process) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("terminate process %d: %w", p.Pid, err)
	}
	return nil
}

func signalGroup(p *os.Process, sig syscall.Signal) error {
	if err := syscall.Kill(-p.Pid, sig); err != nil {
		return fmt.Errorf("send %s to process group %d: %w", sig, p.Pid, err)
	}
	return nil
}
