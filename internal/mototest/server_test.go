package mototest_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/internal/mototest"
)

// recorder is a test that may fail without failing the one around it.
type recorder struct {
	testing.TB
	message string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatal(args ...any) {
	r.message = fmt.Sprint(args...)
	runtime.Goexit()
}

func TestAMissingServerFailsTheTest(t *testing.T) {
	t.Chdir(t.TempDir()) // out of the module, whose dist may have one
	t.Setenv("PATH", t.TempDir())
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		mototest.Start(r)
	}()
	<-done
	assert.Equal(t, "moto_server not found: run `make deps`", r.message)
}
