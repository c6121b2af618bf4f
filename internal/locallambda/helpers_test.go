package locallambda_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/locallambda"
)

// patience bounds every wait of these tests.
const patience = 10 * time.Second

// reply is what the function in testdata/echo answers.
type reply struct {
	Text     string   `json:"text"`
	Request  string   `json:"request"`
	ARN      string   `json:"arn"`
	LeftMS   int64    `json:"left_ms"`
	Ticks    int64    `json:"ticks"`
	Pid      int      `json:"pid"`
	Calls    int64    `json:"calls"`
	Environ  []string `json:"environ"`
	Location string   `json:"location"`
}

// built is the test function, compiled once, in a folder of its own.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "locallambda")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "bootstrap")
	return out, locallambda.Build(context.Background(), ".", "./testdata/echo", out)
})

func TestMain(m *testing.M) {
	m.Run()
	if path, _ := built(); path != "" {
		_ = os.RemoveAll(filepath.Dir(path))
	}
}

// binary returns the path of the test function.
func binary(t *testing.T) string {
	t.Helper()
	path, err := built()
	require.NoError(t, err)
	return path
}

// host returns a host of the test function that the test closes.
func host(t *testing.T, cfg locallambda.Config) *locallambda.Host {
	t.Helper()
	cfg.Binary = binary(t)
	h, err := locallambda.New(cfg)
	require.NoError(t, err)
	t.Cleanup(h.Close)
	return h
}

// invoke asks the function to do something with a text.
func invoke(t *testing.T, h *locallambda.Host, do, text string) (reply, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	payload, err := json.Marshal(map[string]string{"do": do, "text": text})
	require.NoError(t, err)
	body, err := h.Invoke(ctx, payload)
	if err != nil {
		return reply{}, err
	}
	var r reply
	require.NoError(t, json.Unmarshal(body, &r), "%s", body)
	return r, nil
}

// mustInvoke is invoke where the function must not fail.
func mustInvoke(t *testing.T, h *locallambda.Host, do, text string) reply {
	t.Helper()
	r, err := invoke(t, h, do, text)
	require.NoError(t, err)
	return r
}

// invocation is one that runs until finish.
type invocation struct {
	file   string
	result chan error
}

// begin starts an invocation and returns when it holds a copy.
func begin(t *testing.T, h *locallambda.Host) *invocation {
	t.Helper()
	before := h.Stats().Invocations
	in := &invocation{file: filepath.Join(t.TempDir(), "go"), result: make(chan error, 1)}
	payload, err := json.Marshal(map[string]string{"do": "wait", "text": in.file})
	require.NoError(t, err)
	go func() {
		_, err := h.Invoke(t.Context(), payload)
		in.result <- err
	}()
	require.Eventually(t, func() bool { return h.Stats().Invocations > before }, patience, time.Millisecond)
	return in
}

// finish lets the invocation end and returns its error.
func (in *invocation) finish(t *testing.T) error {
	t.Helper()
	require.NoError(t, os.WriteFile(in.file, nil, 0o600))
	return in.wait(t)
}

func (in *invocation) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-in.result:
		return err
	case <-time.After(patience):
		require.Fail(t, "the invocation does not end")
		return nil
	}
}

// kill ends a copy from outside.
func kill(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	require.NoError(t, err)
	require.NoError(t, p.Kill())
}
