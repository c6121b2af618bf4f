package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/buildtest"
	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/internal/locallambda"
)

// lambdaAPI is the Invoke operation of AWS Lambda's API in front of the real
// heartbeat function.
func lambdaAPI(t *testing.T, redis string) *httptest.Server {
	t.Helper()
	host, err := locallambda.New(locallambda.Config{Binary: buildtest.Program(t, "./functions/heartbeat"), Env: map[string]string{"DETOUR_REDIS_URL": redis, "DETOUR_REDIS_TIMEOUT": "500ms"}, Copies: 1, Log: io.Discard})
	require.NoError(t, err)
	t.Cleanup(host.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/2015-03-31/functions/detour-heartbeat/invocations" {
			w.Header().Set("X-Amzn-Errortype", "ResourceNotFoundException")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"Message":"Function not found"}`)
			return
		}
		payload, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		answer, err := host.Invoke(r.Context(), payload)
		assert.NoError(t, err)
		_, _ = w.Write(answer)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestCommandsThroughTheFunctionAreTheSame(t *testing.T) {
	registry := miniredis.RunT(t)
	api := lambdaAPI(t, "redis://"+registry.Addr())
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_LAMBDA": api.URL, "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "made", "AWS_SECRET_ACCESS_KEY": "up",
		"AWS_MAX_ATTEMPTS": "1", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
	} {
		t.Setenv(name, value)
	}
	s := shell{t, map[string]string{"DETOUR_FUNCTION": "detour-heartbeat"}}
	direct := shell{t, map[string]string{"DETOUR_REDIS_URL": "redis://" + registry.Addr()}}

	s.register("b1", "blue")
	s.register("g1", "green")
	s.ok("group", "put", "blue", "--service", "shop", "--fallback", "green")
	paused := object[command.Paused](s, "pause", "group:blue", "--for", "10m")
	assert.Equal(t, []string{"b1"}, paused.Nodes)
	there, here := object[command.Status](s, "status"), object[command.Status](direct, "status")
	assert.Equal(t, here.Pauses, there.Pauses)
	assert.Equal(t, here.Epoch, there.Epoch)
	assert.Contains(t, s.ok("status"), "blue (paused)", "people read the same text")
	assert.Equal(t, direct.ok("resume", "node:b1"), s.ok("resume", "node:b1"))
	code, stdout, _ := s.call("doctor", "--json")
	assert.Equal(t, failed, code, "what is wrong there is wrong here")
	assert.Contains(t, stdout, "no sweep was ever made")

	for name, c := range map[string]struct {
		code int
		args []string
		says string
	}{
		"usage":                             {usage, []string{"pause", "blue"}, "group:ID"},
		"usage that only the function sees": {usage, []string{"pause", "all", "--mode", "stop", "--for", "1m"}, "resume"},
		"no such function":                  {failed, []string{"status", "--function", "other"}, "Function not found"},
		"a flag before the environment":     {failed, []string{"status", "--redis", "redis://127.0.0.1:1"}, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := s.call(c.args...)
			assert.Equal(t, c.code, code)
			assert.Contains(t, stderr, c.says)
		})
	}
	registry.Close()
	code, _, stderr := s.call("status")
	assert.Equal(t, failed, code, stderr)
}
