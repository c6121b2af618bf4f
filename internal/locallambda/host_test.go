package locallambda_test

import (
	"bytes"
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/locallambda"
)

func TestInvokeAnswersWithWhatTheFunctionReturns(t *testing.T) {
	h := host(t, locallambda.Config{Name: "echo"})
	first := mustInvoke(t, h, "echo", "héllo")
	second := mustInvoke(t, h, "echo", "again")

	assert.Equal(t, "héllo", first.Text)
	assert.Equal(t, "arn:aws:lambda:us-east-1:123456789012:function:echo", first.ARN)
	assert.Regexp(t, regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`), first.Request)
	assert.NotEqual(t, first.Request, second.Request)
	assert.InDelta(t, 3000, first.LeftMS, 1000, "the deadline is Lambda's default of 3 s away")
	assert.Equal(t, first.Pid, second.Pid, "the copy is used again")
	assert.Equal(t, int64(2), second.Calls)

	s := h.Stats()
	assert.Equal(t, 2, s.Invocations)
	assert.Equal(t, 1, s.ColdStarts)
	assert.Zero(t, s.Throttles)
	assert.Positive(t, s.LastStart)
}

func TestNothingStartsBeforeTheFirstInvocation(t *testing.T) {
	h := host(t, locallambda.Config{Copies: 3})
	assert.Empty(t, h.Pids())
	mustInvoke(t, h, "echo", "")
	assert.Len(t, h.Pids(), 1)
}

func TestAFunctionSeesLambdasEnvironmentAndNothingElse(t *testing.T) {
	t.Setenv("SECRET_OF_THE_HOST", "1")
	h := host(t, locallambda.Config{
		Name: "redirect", Region: "eu-central-1", Memory: 256, Env: map[string]string{"DETOUR_CLUSTER": "a=b"},
	})
	r := mustInvoke(t, h, "echo", "")
	got := map[string]string{}
	for _, entry := range r.Environ {
		name, value, _ := strings.Cut(entry, "=")
		got[name] = value
	}

	for name, want := range map[string]string{
		"AWS_LAMBDA_FUNCTION_NAME":        "redirect",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256",
		"AWS_LAMBDA_FUNCTION_VERSION":     "$LATEST",
		"AWS_LAMBDA_LOG_GROUP_NAME":       "/aws/lambda/redirect",
		"AWS_REGION":                      "eu-central-1",
		"TZ":                              ":UTC",
		"_HANDLER":                        "bootstrap",
		"LAMBDA_TASK_ROOT":                r.Location,
		"DETOUR_CLUSTER":                  "a=b",
	} {
		assert.Equal(t, want, got[name], name)
	}
	assert.NotEmpty(t, got["AWS_LAMBDA_LOG_STREAM_NAME"])
	assert.NotEmpty(t, got["PATH"])
	assert.NotContains(t, got, "SECRET_OF_THE_HOST")
}

func TestCopiesStartOnDemandUpToTheLimit(t *testing.T) {
	h := host(t, locallambda.Config{Copies: 2, Timeout: patience})
	first, second := begin(t, h), begin(t, h)
	assert.Len(t, h.Pids(), 2)

	_, err := invoke(t, h, "echo", "")
	require.ErrorIs(t, err, locallambda.ErrThrottled)
	assert.Equal(t, 1, h.Stats().Throttles)

	require.NoError(t, first.finish(t))
	mustInvoke(t, h, "echo", "")
	require.NoError(t, second.finish(t))
	assert.Equal(t, 2, h.Stats().ColdStarts)
}

func TestAnInvocationWaitsForACopy(t *testing.T) {
	h := host(t, locallambda.Config{WaitForCopy: true, Timeout: patience})
	first := begin(t, h)
	second := make(chan error, 1)
	go func() {
		_, err := h.Invoke(t.Context(), []byte(`{}`))
		second <- err
	}()
	require.NoError(t, first.finish(t))
	require.NoError(t, (&invocation{result: second}).wait(t))
	assert.Equal(t, 1, h.Stats().ColdStarts)
}

func TestWaitingForACopyEnds(t *testing.T) {
	for name, row := range map[string]struct {
		end  func(cancel context.CancelFunc, h *locallambda.Host)
		want error
	}{
		"with the caller's patience": {func(cancel context.CancelFunc, _ *locallambda.Host) { cancel() }, context.Canceled},
		"when the host closes":       {func(_ context.CancelFunc, h *locallambda.Host) { h.Close() }, locallambda.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			h := host(t, locallambda.Config{WaitForCopy: true, Timeout: patience})
			begin(t, h)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			waiting := make(chan error, 1)
			go func() {
				_, err := h.Invoke(ctx, []byte(`{}`))
				waiting <- err
			}()
			row.end(cancel, h)
			require.ErrorIs(t, (&invocation{result: waiting}).wait(t), row.want)
		})
	}
}

func TestConcurrentInvocationsEachGetTheirOwnAnswer(t *testing.T) {
	h := host(t, locallambda.Config{Copies: 4, WaitForCopy: true})
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			for range 10 {
				text := strings.Repeat("x", i)
				r, err := invoke(t, h, "echo", text)
				assert.NoError(t, err)
				assert.Equal(t, text, r.Text)
			}
		})
	}
	clients.Wait()
	assert.Equal(t, 80, h.Stats().Invocations)
	assert.LessOrEqual(t, h.Stats().ColdStarts, 4)
}

func TestWhatAFunctionWritesIsLogged(t *testing.T) {
	var log bytes.Buffer
	h := host(t, locallambda.Config{Log: &log})
	mustInvoke(t, h, "log", "a line of the log")
	h.Close() // the copies' output is complete when they are gone
	assert.Contains(t, log.String(), "a line of the log\n")
}

func TestAHostNeedsABinary(t *testing.T) {
	for name, binary := range map[string]string{
		"none is given":       "",
		"it is not there":     filepath.Join(t.TempDir(), "bootstrap"),
		"it is no executable": "host_test.go",
		"it is a folder":      t.TempDir(),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := locallambda.New(locallambda.Config{Binary: binary})
			require.ErrorContains(t, err, "binary")
		})
	}
}

func TestAClosedHostRefuses(t *testing.T) {
	h := host(t, locallambda.Config{Timeout: patience})
	under := begin(t, h)
	began := time.Now()
	h.Close()
	assert.Less(t, time.Since(began), patience/2, "the copy is killed, not waited for")
	require.ErrorIs(t, under.wait(t), locallambda.ErrClosed)
	assert.Empty(t, h.Pids())

	_, err := invoke(t, h, "echo", "")
	require.ErrorIs(t, err, locallambda.ErrClosed)
	h.Close()
}
