package registrytest_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/agent"
	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/internal/registrytest"
	"github.com/detourhq/detour/internal/sweep"
	"github.com/detourhq/detour/pkg/cluster"
)

// guarded is a server with the users of docs/registry.acl; admin may do all.
type guarded struct {
	*redistest.Server
	registry *cluster.Registry
	admin    redis.UniversalClient
}

func guard(t *testing.T) guarded {
	t.Helper()
	server := redistest.Start(t)
	r, admin := open(t, server.URL)
	for name, u := range registrytest.Users(t, "../../docs/registry.acl", "test") {
		if name == "default" {
			continue
		}
		args := []any{"ACL", "SETUSER", name, "reset"}
		for _, rule := range u.Rules {
			args = append(args, rule)
		}
		require.NoError(t, admin.Do(t.Context(), append(args, ">secret")...).Err())
	}
	return guarded{server, r, admin}
}

func (g guarded) as(t *testing.T, role string) (*cluster.Registry, redis.UniversalClient) {
	t.Helper()
	return open(t, "redis://"+role+":secret@"+g.Addr)
}

// nothingRefused looks into scripts too, whose announcements fail in silence.
func (g guarded) nothingRefused(t *testing.T) {
	t.Helper()
	log, err := g.admin.ACLLog(t.Context(), 10).Result()
	require.NoError(t, err)
	for _, e := range log {
		t.Errorf("%s is refused %s %s (%s)", e.Username, e.Reason, e.Object, e.Context)
	}
}

func TestAnAgentLivesOnTheRightsOfANode(t *testing.T) {
	g := guard(t)
	r, _ := g.as(t, "detour-node")
	a := agent.New(r, agent.Config{
		Descriptor: cluster.Descriptor{ID: "n1", Group: "blue", Endpoint: "https://n1.example.com", Weight: 1},
		PulseEvery: 50 * time.Millisecond,
		Figures:    func() cluster.Figures { return cluster.Figures{} },
	})
	require.NoError(t, a.Start(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(cancel)

	_, err := g.registry.Pause(t.Context(), cluster.GroupTarget("blue"), cluster.PauseRequest{Mode: cluster.Redirect})
	require.NoError(t, err)
	waitFor(t, g.registry, "the node obeys", func(s *cluster.Snapshot) bool {
		return len(s.Nodes) == 1 && s.Nodes[0].Figures != nil && s.Nodes[0].Figures.SeenEpoch >= s.Epoch
	})
	require.NoError(t, g.admin.FlushAll(t.Context()).Err())
	waitFor(t, g.registry, "the node and its pause are back", func(s *cluster.Snapshot) bool {
		return len(s.Nodes) == 1 && len(s.Pauses) == 1
	})
	require.NoError(t, a.Pause(t.Context(), "deploy"))
	require.NoError(t, a.Shutdown(t.Context(), "SIGTERM"))
	require.NoError(t, <-ended)
	assert.Empty(t, snapshot(t, g.registry).Nodes)
	g.nothingRefused(t)
}

func waitFor(t *testing.T, r *cluster.Registry, what string, ok func(*cluster.Snapshot) bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		s, err := r.Snapshot(t.Context(), time.Now)
		return err == nil && ok(s)
	}, 10*time.Second, 5*time.Millisecond, what)
}

func TestCommandsAndSweepsLiveOnTheRightsOfTheHeartbeat(t *testing.T) {
	g := guard(t)
	r, _ := g.as(t, "detour-heartbeat")
	sweeper := sweep.New(r, sweep.Config{PulseTimeout: time.Second, PruneAfter: time.Second, PruneMax: 1}, nil, time.Now, slog.New(slog.DiscardHandler))
	runner := &command.Runner{Cluster: "test", Registry: r, Sweeper: sweeper, Wall: time.Now}
	load := 0.5
	for _, c := range []command.Command{
		{Verb: "register", Node: &cluster.Descriptor{ID: "n1", Group: "blue", Endpoint: "https://n1.example.com"}, Load: &load},
		{Verb: "register", Node: &cluster.Descriptor{ID: "n2", Group: "blue", Endpoint: "https://n2.example.com"}},
		{Verb: "group-put", ID: "blue", Group: []byte(`{"service":"shop"}`)},
		{Verb: "group-list"},
		{Verb: "pause", Target: "node:n1", ForMS: 1},
		{Verb: "status"},
		{Verb: "explain", URL: "https://app.example.com/"},
		{Verb: "sweep"},
		{Verb: "resume", Target: "node:n1"},
		{Verb: "leave", ID: "n2"},
		{Verb: "group-rm", ID: "blue"},
	} {
		_, err := runner.Run(t.Context(), c)
		require.NoError(t, err, c.Verb)
	}
	for _, id := range []string{"silent", "ahead", "half"} {
		_, _, err := g.registry.Register(t.Context(), cluster.Descriptor{ID: id, Group: "blue", Endpoint: "https://a.example", Weight: 1}, cluster.Report{})
		require.NoError(t, err)
	}
	require.NoError(t, g.admin.ZAdd(t.Context(), prefix+":pulses", redis.Z{Score: 1, Member: "silent"}, redis.Z{Score: 4e12, Member: "ahead"}).Err())
	require.NoError(t, g.admin.ZRem(t.Context(), prefix+":pulses", "half").Err())
	require.NoError(t, g.admin.HSet(t.Context(), prefix+":left", "old", "1-a 1").Err())
	result, err := sweeper.Sweep(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"ahead"}, result.Stamped)
	assert.Equal(t, []string{"half"}, result.Mended)
	assert.Equal(t, []string{"silent"}, result.PrunedIDs)
	g.nothingRefused(t)
}

// What each role is refused, on a registry where it could do harm.
func TestNoRoleGetsBeyondItsRights(t *testing.T) {
	g := guard(t)
	own := []string{
		"FLUSHALL", "FLUSHDB", "KEYS *", "SCAN 0", "CONFIG GET *", "CLIENT LIST", "ACL LIST", "MONITOR", "SHUTDOWN",
		"GET other", "HGETALL {detour:other}:nodes", "EVAL return(redis.call('get','other')) 0", "PUBLISH other x", "MULTI", "SCRIPT FLUSH",
		"DEL :nodes", "DEL :epoch", "SET :nodes x", "RENAME :nodes :groups", "EXPIRE :nodes 1", "SET :events x", "XTRIM :events MAXLEN 0", "ZADD :holds2 1 x",
	}
	for role, more := range map[string][]string{
		"detour-redirect": {
			"HSET :nodes n1 x", "ZADD :pulses 1 n1", "SET :epoch 1", "HSET :pauses all x", "HINCRBY :work x 1",
			"EVAL return(1) 1 :nodes", "EVALSHA x 1 :nodes", "PUBLISH :changes 1", "XADD :events * a b", "HDEL :stats:1 x",
		},
		"detour-node": {
			"HDEL :pauses all", "HSET :groups blue x", "HSET :work sweep x", "SET :lease x", "SET :fence 1", "HINCRBY :stats:1 x 1",
			"SUBSCRIBE other", "EVAL return(redis.call('del',KEYS[1])) 1 :epoch", "EVAL return(redis.call('set',KEYS[1],1)) 1 :fence",
		},
		"detour-heartbeat": {"DEL :fence", "DEL :work", "EXPIRE :lease 1", "HINCRBY :stats:1 x 1", "EVAL return(redis.call('flushall')) 1 :nodes"},
	} {
		t.Run(role, func(t *testing.T) {
			_, c := g.as(t, role)
			for _, line := range append(more, own...) {
				err := c.Do(t.Context(), words(line)...).Err()
				require.Error(t, err, line)
				assert.Regexp(t, "NOPERM|can't (run|access)", err.Error(), line)
			}
		})
	}
}

// Each method that another role is for.
func TestMethodsOfOtherRolesAreRefused(t *testing.T) {
	g := guard(t)
	d, _, err := g.registry.Register(t.Context(), cluster.Descriptor{ID: "n1", Group: "blue", Endpoint: "https://a.example", Weight: 1}, cluster.Report{})
	require.NoError(t, err)
	_, err = g.registry.Pause(t.Context(), cluster.All, cluster.PauseRequest{})
	require.NoError(t, err)
	for role, calls := range map[string]map[string]func(ctx context.Context, r *cluster.Registry) error{
		"detour-redirect": merge(writesOfNodes(d), writesOfHeartbeat(), map[string]call{
			"Pause": func(ctx context.Context, r *cluster.Registry) error {
				_, err := r.Pause(ctx, cluster.All, cluster.PauseRequest{})
				return err
			},
		}),
		"detour-node": writesOfHeartbeat(),
	} {
		r, _ := g.as(t, role)
		before := snapshot(t, g.registry)
		for name, call := range calls {
			err := call(t.Context(), r)
			require.Error(t, err, "%s by %s", name, role)
			assert.Regexp(t, "NOPERM|can't (run|access)", err.Error(), "%s by %s", name, role)
		}
		after := snapshot(t, g.registry)
		assert.Equal(t, before.Nodes, after.Nodes)
		assert.Equal(t, before.Pauses, after.Pauses)
		assert.Equal(t, before.Groups, after.Groups)
	}
}
