package locallambda_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/locallambda"
)

func TestAFunctionsErrorIsTold(t *testing.T) {
	for name, row := range map[string]struct {
		do   string
		want locallambda.FunctionError
		kept bool // the copy serves the next invocation too
	}{
		"a returned error keeps the copy": {"fail", locallambda.FunctionError{Type: "errorString", Message: "oh"}, true},
		"a panic costs the copy":          {"panic", locallambda.FunctionError{Type: "string", Message: "oh"}, false},
		"an exit costs the copy":          {"exit", locallambda.FunctionError{Type: "Runtime.ExitError", Message: "exit status 3"}, false},
		"a response over 6 MB is refused": {"large", locallambda.FunctionError{
			Type:    "Function.ResponseSizeTooLarge",
			Message: "response payload size exceeded maximum allowed payload size (6291456 bytes)",
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := host(t, locallambda.Config{})
			before := mustInvoke(t, h, "echo", "")

			_, err := invoke(t, h, row.do, "oh")
			var failed *locallambda.FunctionError
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, row.want, *failed)

			after := mustInvoke(t, h, "echo", "")
			assert.Equal(t, row.kept, after.Pid == before.Pid)
			assert.Len(t, h.Pids(), 1)
		})
	}
}

func TestAnInvocationPastItsDeadlineFailsAndCostsTheCopy(t *testing.T) {
	h := host(t, locallambda.Config{Timeout: 200 * time.Millisecond})
	began := time.Now()
	_, err := invoke(t, h, "hang", "")
	require.ErrorIs(t, err, locallambda.ErrTimeout)
	assert.GreaterOrEqual(t, time.Since(began), 200*time.Millisecond)
	assert.Empty(t, h.Pids())

	mustInvoke(t, h, "echo", "")
	assert.Equal(t, 2, h.Stats().ColdStarts)
}

func TestAStartThatFailsIsTold(t *testing.T) {
	h := host(t, locallambda.Config{Env: map[string]string{"BREAK": "exit"}})
	_, err := invoke(t, h, "echo", "")
	var failed *locallambda.FunctionError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, locallambda.FunctionError{Type: "Runtime.ExitError", Message: "exit status 7"}, *failed)
	assert.Equal(t, 1, h.Stats().ColdStarts)
	assert.Zero(t, h.Stats().Invocations)
}

func TestAFunctionReportsWhyItCannotStart(t *testing.T) {
	for name, row := range map[string]struct {
		report string
		want   locallambda.FunctionError
	}{
		"as the Runtime API wants it": {
			`{"errorType":"Config.Missing","errorMessage":"no table","stackTrace":[]}`,
			locallambda.FunctionError{Type: "Config.Missing", Message: "no table"},
		},
		"in its own words": {"no table", locallambda.FunctionError{Type: "Runtime.Unknown", Message: "no table"}},
		"without a type":   {"{}", locallambda.FunctionError{Type: "Runtime.Unknown", Message: "{}"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := host(t, locallambda.Config{Env: map[string]string{"BREAK": "report", "REPORT": row.report}})
			_, err := invoke(t, h, "echo", "")
			var failed *locallambda.FunctionError
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, row.want, *failed)
			assert.Empty(t, h.Pids(), "the copy is gone though it did not exit by itself")
		})
	}
}

func TestAnEventLeftWithoutAnAnswerIsAnError(t *testing.T) {
	h := host(t, locallambda.Config{Env: map[string]string{"BREAK": "ask"}})
	_, err := invoke(t, h, "echo", "")
	var failed *locallambda.FunctionError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "Runtime.ExitError", failed.Type)
	assert.Empty(t, h.Pids())
}

func TestACopyKilledWhileIdleIsReplaced(t *testing.T) {
	h := host(t, locallambda.Config{})
	before := mustInvoke(t, h, "echo", "")
	kill(t, before.Pid)
	require.Eventually(t, func() bool { return len(h.Pids()) == 0 }, patience, time.Millisecond)

	after := mustInvoke(t, h, "echo", "")
	assert.NotEqual(t, before.Pid, after.Pid)
	assert.Equal(t, 2, h.Stats().ColdStarts)
}

func TestACopyKilledAtWorkFailsItsInvocation(t *testing.T) {
	h := host(t, locallambda.Config{Timeout: patience})
	under := begin(t, h)
	kill(t, h.Pids()[0])
	var failed *locallambda.FunctionError
	require.ErrorAs(t, under.wait(t), &failed)
	assert.Equal(t, "Runtime.ExitError", failed.Type)
}

func TestAnInvocationRunsOnWhenItsCallerHasGone(t *testing.T) {
	h := host(t, locallambda.Config{Timeout: patience})
	warm := mustInvoke(t, h, "echo", "")
	file := t.TempDir() + "/go"
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := h.Invoke(ctx, []byte(`{"do":"wait","text":"`+file+`"}`))
		result <- err
	}()
	require.Eventually(t, func() bool { return h.Stats().Invocations == 2 }, patience, time.Millisecond)
	cancel()
	require.ErrorIs(t, (&invocation{result: result}).wait(t), context.Canceled)
	_, err := invoke(t, h, "echo", "")
	require.ErrorIs(t, err, locallambda.ErrThrottled, "the copy is still at work")

	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Eventually(t, func() bool {
		r, err := invoke(t, h, "echo", "")
		return err == nil && r.Pid == warm.Pid && r.Calls == 3
	}, patience, time.Millisecond)
}

func TestAPayloadOver6MBIsRefused(t *testing.T) {
	h := host(t, locallambda.Config{})
	payload := make([]byte, locallambda.MaxPayload+1)
	for i := range payload {
		payload[i] = ' '
	}
	copy(payload, `{}`)
	_, err := h.Invoke(t.Context(), payload)
	require.ErrorIs(t, err, locallambda.ErrTooLarge)
	_, err = h.Invoke(t.Context(), payload[:locallambda.MaxPayload])
	require.NoError(t, err)
}
