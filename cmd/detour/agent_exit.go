package main

import (
	"fmt"
	"io"
)

// exitError ends with a code that is not this program's own. err says why, nil that
// there is nothing more to say.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// show tells why, and returns the code.
func (e *exitError) show(w io.Writer) int {
	if e.err != nil {
		fmt.Fprintln(w, "detour:", e.err)
	}
	return e.code
}

// ended returns the error with which to end with an application's code.
func ended(code int) error {
	if code == done {
		return nil
	}
	return &exitError{code: code}
}
