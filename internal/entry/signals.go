package entry

import (
	"os"
	"syscall"
)

// orders are the signals that tell an entry to end.
var orders = []os.Signal{os.Interrupt, syscall.SIGTERM}

// Signals returns the signals that an entry listens to: those that tell it to end,
// and with an application those that it hands on.
func Signals(app bool) []os.Signal {
	if !app {
		return orders
	}
	return append(orders[:len(orders):len(orders)], handedOn...)
}

// isOrder reports whether s tells an entry to end.
func isOrder(s os.Signal) bool { return s == os.Interrupt || s == syscall.SIGTERM }
