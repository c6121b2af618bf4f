package redistest_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/internal/redistest"
)

// recorder is a test that may fail without failing the one around it.
type recorder struct {
	testing.TB
	message string
}

func (r *recorder) Helper()                           {}
func (r *recorder) Fatal(args ...any)                 { r.end(fmt.Sprint(args...)) }
func (r *recorder) Fatalf(format string, args ...any) { r.end(fmt.Sprintf(format, args...)) }

func (r *recorder) end(message string) {
	r.message = message
	runtime.Goexit()
}

// fatal returns what Start ends a test with.
func fatal(t *testing.T, options ...redistest.Option) string {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		redistest.Start(r, options...)
	}()
	<-done
	return r.message
}

func TestAMissingServerFailsTheTest(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	assert.Equal(t, "redis-server not found: run `make deps`", fatal(t))
}

func TestAServerThatCannotStartFailsTheTestWithItsLog(t *testing.T) {
	message := fatal(t, redistest.WithConfig("appendonly yes", "appenddirname a/b"))
	assert.Contains(t, message, "start redis-server: the process ended")
}
