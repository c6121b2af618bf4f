package e2e

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/buildtest"
	"github.com/detourhq/detour/internal/child"
	"github.com/detourhq/detour/pkg/cluster"
)

const emulatorPackage = "github.com/aws/aws-lambda-runtime-interface-emulator/cmd/aws-lambda-rie"

// hopTime is the only part of an answer that time alone changes.
var hopTime = regexp.MustCompile(`detour=\d+\.[0-9a-z]+`)

// AWS's own emulator of the Runtime API and our Lambda host must make the same
// of the function.
func TestTheEmulatorOfAWSGetsTheSameAnswers(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.register(t, "g1", "green", "https://green.example.com")
	w.pause(t, cluster.GroupTarget("blue"))
	url := startEmulator(t, w.env(nil))
	for name, event := range recordedEvents(t) {
		t.Run(name, func(t *testing.T) {
			ours, err := w.function.Invoke(t.Context(), event)
			require.NoError(t, err)
			theirs := post(t, url, event)
			mask := func(b []byte) string { return hopTime.ReplaceAllString(string(b), "detour=*") }
			assert.Equal(t, mask(ours), mask(theirs))
			assert.Contains(t, string(ours), `{"statusCode":`)
		})
	}
}

// recordedEvents are those that the event codec is tested with, and some that
// are no events.
func recordedEvents(t *testing.T) map[string][]byte {
	t.Helper()
	events := map[string][]byte{
		"no JSON":       []byte("<xml>"),
		"a list":        []byte(`[]`),
		"nothing in it": []byte(`{}`),
		"null":          []byte(`null`),
		"not UTF-8":     []byte("{\"httpMethod\":\"GET\",\"path\":\"/\xff\",\"headers\":{\"host\":\"a\"}}"),
		"the limit of hops": []byte(`{"httpMethod":"GET","path":"/",` +
			`"headers":{"host":"a","x-forwarded-for":"192.0.2.1","x-aspectran-redirect-count":"3"}}`),
		"a preflight": []byte(`{"httpMethod":"OPTIONS","path":"/","headers":{"host":"a",` +
			`"origin":"https://app.example.com","access-control-request-method":"PUT"}}`),
	}
	files, err := filepath.Glob(filepath.Join(root, "internal/albevent/testdata/events/*.json"))
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, ".golden.json") {
			continue
		}
		event, err := os.ReadFile(file)
		require.NoError(t, err)
		events[strings.TrimSuffix(filepath.Base(file), ".json")] = event
	}
	require.Greater(t, len(events), 12, "no recorded events found")
	return events
}

// startEmulator runs the redirect function under the emulator and returns the
// URL that events are posted to.
func startEmulator(t *testing.T, env map[string]string) string {
	t.Helper()
	program := buildtest.Variant(t, emulatorPackage, emulatorPackage, "-modfile=tools/go.mod")
	address, log := freeAddress(t), &journal{}
	cmd := exec.Command(program, //nolint:noctx // ends with the test's cleanup, which outlives its context
		"--runtime-interface-emulator-address", address, "--runtime-api-address", freeAddress(t), binary(t))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stdout, cmd.Stderr = log, log
	starter := child.NewStarter()
	require.NoError(t, starter.Start(cmd))
	t.Cleanup(func() {
		_ = child.Kill(cmd.Process) // the function ends by itself when its Runtime API has gone
		_ = cmd.Wait()              // how it ended is its own affair
		starter.Close()
		if t.Failed() {
			t.Logf("the emulator's log:\n%s", log.excerpt())
		}
	})
	require.Eventually(t, func() bool { return accepts(t.Context(), address) }, patience, 5*time.Millisecond)
	return "http://" + address + "/2015-03-31/functions/function/invocations"
}

// freeAddress returns an address that nobody listened on a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

func accepts(ctx context.Context, address string) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func post(t *testing.T, url string, body []byte) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	require.NoError(t, err)
	resp, err := direct.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return answer
}
