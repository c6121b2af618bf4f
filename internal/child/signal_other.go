//go:build !unix

package child

import (
	"fmt"
	"os"
	"syscall"
)

// CanStop tells whether Stop and Continue work on this system.
const CanStop = false

// Stop does nothing: this system cannot stop a process.
func Stop(*os.Process) error { return nil }

// Continue does nothing, as Stop.
func Continue(*os.Process) error { return nil }

// Kill ends p at once.
func Kill(p *os.Process) error {
	if err := p.Kill(); err != nil {
		return fmt.Errorf("kill process %d: %w", p.Pid, err)
	}
	return nil
}

// Terminate ends p at once: this system has no SIGTERM.
func Terminate(p *os.Process) error { return Kill(p) }

func attributes() *syscall.SysProcAttr { return nil }
