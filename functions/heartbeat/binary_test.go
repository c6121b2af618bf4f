package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/buildtest"
	"github.com/detourhq/detour/internal/localaws"
	"github.com/detourhq/detour/internal/locallambda"
	"github.com/detourhq/detour/pkg/cluster"
)

// shipped is the function as it is shipped, beside a registry and AWS's API.
type shipped struct {
	host     *locallambda.Host
	server   *miniredis.Miniredis
	registry *cluster.Registry
	aws      *localaws.Server
	calls    atomic.Int64 // of AWS's API
	nodes    []cluster.Descriptor
}

// newShipped has a node for each instance and task of the recorded events, a group
// for each of their sources, and one more node that stands in.
func newShipped(t *testing.T) *shipped {
	t.Helper()
	s := &shipped{server: miniredis.RunT(t), aws: &localaws.Server{AutoScaling: &localaws.AutoScaling{}, CodeDeploy: &localaws.CodeDeploy{}}}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.calls.Add(1)
		s.aws.ServeHTTP(w, r)
	}))
	t.Cleanup(api.Close)
	var err error
	s.host, err = locallambda.New(locallambda.Config{Binary: buildtest.Program(t, "./functions/heartbeat"), Timeout: 14 * time.Second, Env: map[string]string{ // no time for a second sweep
		"DETOUR_REDIS_URL": "redis://" + s.server.Addr(), "AWS_ENDPOINT_URL": api.URL, "AWS_ACCESS_KEY_ID": "made", "AWS_SECRET_ACCESS_KEY": "up",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	}})
	require.NoError(t, err)
	t.Cleanup(s.host.Close)
	client, err := cluster.Dial("redis://"+s.server.Addr(), 2*time.Second)
	require.NoError(t, err)
	s.registry, err = cluster.NewRegistry(client, "default")
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.registry.Close() })
	s.settle(t)
	return s
}

func (s *shipped) settle(t *testing.T) {
	t.Helper()
	for id, source := range map[string]string{"web": "asg:web", "tasks": "ecs:shop/web", "canary": "codedeploy:shop/canary"} {
		_, err := s.registry.ChangeGroup(t.Context(), id, func(g *cluster.Group) error {
			g.Sources = []string{source}
			return nil
		})
		require.NoError(t, err)
	}
	for _, d := range []cluster.Descriptor{
		{ID: "n1", Group: "web", Target: "i-0aaaaaaaaaaaaaaa1"},
		{ID: "n2", Group: "web", Target: "i-0aaaaaaaaaaaaaaa2"},
		{ID: "n3", Group: "web", Target: "i-0aaaaaaaaaaaaaaa3"},
		{ID: "n4", Group: "web", Target: "i-0aaaaaaaaaaaaaaa4"},
		{ID: "n5", Group: "web", Target: "i-0aaaaaaaaaaaaaaa5"},
		{ID: "n6", Group: "canary", Target: "i-0aaaaaaaaaaaaaaa6"},
		{ID: "n7", Group: "tasks", Task: "arn:aws:ecs:eu-central-1:123456789012:task/shop/0123456789abcdef0123456789abcdef"},
		{ID: "n8", Group: "spare"},
	} {
		d.Endpoint, d.Weight = "https://"+d.ID+".example.com", cluster.DefaultWeight
		registered, _, err := s.registry.Register(t.Context(), d, cluster.Report{Status: cluster.Active})
		require.NoError(t, err)
		s.nodes = append(s.nodes, registered)
	}
}

// invoke returns the function's answer, which is JSON and no failure of its own.
func (s *shipped) invoke(t *testing.T, payload []byte) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	answer, err := s.host.Invoke(ctx, payload)
	require.NoError(t, err, "%s", payload)
	require.True(t, json.Valid(answer), "%s", answer)
	return answer
}

// pauses are those that stand, by target.
func (s *shipped) pauses(t *testing.T) map[string]cluster.Pause {
	t.Helper()
	snapshot, err := s.registry.Snapshot(t.Context(), time.Now)
	require.NoError(t, err)
	all := make(map[string]cluster.Pause)
	for target, p := range snapshot.Pauses {
		all[target.String()] = p
	}
	return all
}

// quiet has every node publish that it obeys all pauses, and has nothing to do, when
// all who were led there have arrived.
func (s *shipped) quiet(t *testing.T) {
	t.Helper()
	s.server.SetTime(time.Now().Add(3 * time.Second))
	epoch, err := s.registry.Epoch(t.Context(), cluster.Counts{})
	require.NoError(t, err)
	for _, n := range s.nodes {
		_, err := s.registry.Pulse(t.Context(), n.ID, n.Generation, &cluster.Figures{SeenEpoch: epoch})
		require.NoError(t, err)
	}
}
