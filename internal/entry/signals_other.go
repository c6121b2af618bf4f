//go:build !unix

package entry

import "os"

// handedOn is empty: this system has no such signals.
var handedOn []os.Signal
