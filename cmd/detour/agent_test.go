package main

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// registry returns an embedded registry, and its URL.
func registry(t *testing.T) (*cluster.Registry, string) {
	t.Helper()
	url := "redis://" + miniredis.RunT(t).Addr()
	client, err := cluster.Dial(url, 5*time.Second)
	require.NoError(t, err)
	r, err := cluster.NewRegistry(client, "default")
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r, url
}

// offAWS is an environment in which nobody is asked for this machine's place.
func offAWS(url string) map[string]string {
	return map[string]string{"DETOUR_REDIS_URL": url, "AWS_EC2_METADATA_DISABLED": "true"}
}

// statusOf is what the node called n1 reports; empty if it is not there.
func statusOf(t *testing.T, r *cluster.Registry) cluster.Status {
	t.Helper()
	s, err := r.Snapshot(t.Context(), time.Now)
	require.NoError(t, err)
	n, ok := s.Node("n1")
	if !ok {
		return ""
	}
	return n.Report.Status
}

func TestAnAgentPublishesItsPauseAndThenLeaves(t *testing.T) {
	r, url := registry(t)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	code := make(chan int, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		var out, errs bytes.Buffer
		a := &app{environment: offAWS(url), stdout: &out, stderr: &errs}
		code <- a.run(ctx, []string{"agent", "--id", "n1", "--group", "blue", "--endpoint", "https://n1.example.com", "--pulse-every", "50ms", "--grace", "500ms"})
	})
	defer wg.Wait()
	seen := func(want cluster.Status) func() bool { return func() bool { return statusOf(t, r) == want } }
	require.Eventually(t, seen(cluster.Active), 5*time.Second, 10*time.Millisecond)
	end()
	require.Eventually(t, seen(cluster.Paused), 5*time.Second, 10*time.Millisecond, "the pause comes first")
	require.Eventually(t, seen(""), 5*time.Second, 10*time.Millisecond, "and leaving last")
	assert.Equal(t, done, <-code)
}

func TestAnAgentThatIsSupersededEndsWith1(t *testing.T) {
	r, url := registry(t)
	code := make(chan int, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		var out, errs bytes.Buffer
		a := &app{environment: offAWS(url), stdout: &out, stderr: &errs}
		code <- a.run(t.Context(), []string{"agent", "--id", "n1", "--group", "blue", "--endpoint", "https://n1.example.com", "--pulse-every", "50ms"})
	})
	defer wg.Wait()
	require.Eventually(t, func() bool { return statusOf(t, r) == cluster.Active }, 5*time.Second, 10*time.Millisecond)
	_, _, err := r.Register(t.Context(), cluster.Descriptor{ID: "n1", Group: "blue", Endpoint: "https://other.example.com", Weight: 1}, cluster.Report{Status: cluster.Active})
	require.NoError(t, err)
	select {
	case c := <-code:
		assert.Equal(t, failed, c)
	case <-time.After(5 * time.Second):
		t.Fatal("the agent did not end")
	}
}
