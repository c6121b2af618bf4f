//go:build unix

package entry

import (
	"os"
	"syscall"
)

// handedOn are signals with which people and programs talk to servers.
var handedOn = []os.Signal{syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH}
