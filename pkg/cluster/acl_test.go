package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/internal/registrytest"
	"github.com/detourhq/detour/pkg/cluster"
)

const aclFile = "../../docs/registry.acl"

// aclServer is a cluster of one node with the users of aclFile. Its default user
// may do everything.
type aclServer struct {
	*redistest.Server
	admin redis.UniversalClient
	users map[string]registrytest.User
}

func startACL(t *testing.T) *aclServer {
	t.Helper()
	s := &aclServer{Server: redistest.Start(t, redistest.WithCluster()), users: registrytest.Users(t, aclFile, "test")}
	s.admin = dial(t, s.URL)
	for name, u := range s.users {
		if name != "default" {
			require.NoError(t, s.set(t.Context(), u))
		}
	}
	return s
}

func dial(t *testing.T, url string) redis.UniversalClient {
	t.Helper()
	c, err := cluster.Dial(url, budget)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// set makes u what its rules say, with the password secret.
func (s *aclServer) set(ctx context.Context, u registrytest.User) error {
	args := []any{"ACL", "SETUSER", u.Name, "reset"}
	for _, rule := range u.Rules {
		args = append(args, rule)
	}
	return s.admin.Do(ctx, append(args, ">secret")...).Err()
}

// as returns a client of the user called name.
func (s *aclServer) as(t *testing.T, name string) redis.UniversalClient {
	t.Helper()
	return dial(t, "redis://"+name+":secret@"+s.Addr+"?cluster=true")
}

// refusals returns what the server has refused since the last call, within
// scripts too.
func (s *aclServer) refusals(t *testing.T) (list []string) {
	t.Helper()
	entries, err := s.admin.ACLLog(t.Context(), 100).Result()
	require.NoError(t, err)
	require.NoError(t, s.admin.ACLLogReset(t.Context()).Err())
	for _, e := range entries {
		list = append(list, fmt.Sprintf("%s: %s %s (%s)", e.Username, e.Reason, e.Object, e.Context))
	}
	return list
}

// life does everything that a role does, on a registry that holds a node, a
// pause and a group.
type life func(ctx context.Context, c redis.UniversalClient, r *cluster.Registry) error

var lives = map[string]life{"detour-redirect": redirectLife, "detour-node": nodeLife, "detour-heartbeat": heartbeatLife}

func redirectLife(ctx context.Context, _ redis.UniversalClient, r *cluster.Registry) error {
	cache := cluster.NewCache(r, cluster.CacheConfig{}, time.Now)
	for range 2 { // the second one reads what ages and sends what was counted
		s, _, err := cache.Snapshot(ctx)
		if err != nil {
			return err
		}
		cache.Count(s.Time, "redirected")
	}
	p := cluster.Place{Source: "a", ID: "1", Until: 2}
	ok, err := r.Hold(ctx, 1, p, 1, 1)
	if !ok {
		return fmt.Errorf("no place to hold a request: %w", err)
	}
	return r.Release(ctx, p)
}

func nodeLife(ctx context.Context, c redis.UniversalClient, r *cluster.Registry) error {
	changes := c.Subscribe(ctx, prefix+":changes")
	defer func() { _ = changes.Close() }()
	_, subscribed := changes.Receive(ctx)
	d, _, registered := r.Register(ctx, node("n1"), active)
	_, again, registeredAgain := r.Register(ctx, d, active)
	_, pulsed := r.Pulse(ctx, "n1", d.Generation, &cluster.Figures{})
	_, reported := r.Report(ctx, "n1", cluster.Report{Generation: d.Generation, Status: cluster.Paused})
	s, read := r.Snapshot(ctx, time.Now)
	_, looked := r.Epoch(ctx, cluster.Counts{})
	_, reasserted := r.Reassert(ctx, cluster.NodeTarget("n1"), cluster.Pause{Mode: cluster.Hold, Epoch: again}, "n1")
	_, left := r.Leave(ctx, "n1", d.Generation)
	if read == nil && len(s.Nodes) != 2 {
		return fmt.Errorf("snapshot of %d nodes", len(s.Nodes))
	}
	return errors.Join(subscribed, changes.Ping(ctx), c.Ping(ctx).Err(), registered, registeredAgain, pulsed, reported, read, looked, reasserted, left)
}

func heartbeatLife(ctx context.Context, _ redis.UniversalClient, r *cluster.Registry) error {
	_, paused := r.Pause(ctx, cluster.NodeTarget("n1"), cluster.PauseRequest{})
	_, _, resumed := r.Resume(ctx, cluster.NodeTarget("n1"), "ops", "")
	_, changed := r.ChangeGroup(ctx, "green", func(*cluster.Group) error { return nil })
	_, removed := r.RemoveGroup(ctx, "green")
	err := errors.Join(nodeLifeByCommand(ctx, r), paused, resumed, changed, removed)
	l, leased := r.AcquireLease(ctx, "a", time.Minute)
	_, held := r.AcquireLease(ctx, "b", time.Minute)
	if errors.Is(held, cluster.ErrHeld) {
		held = nil
	}
	_, noted := r.Notes(ctx)
	s, read := r.Snapshot(ctx, time.Now)
	if read != nil {
		return read
	}
	_, looked := r.Epoch(ctx, cluster.Counts{})
	stamped := r.Stamp(ctx, l, s.Nodes)
	_, tidied := r.Tidy(ctx, l, cluster.SweepNotes{}, []cluster.Target{cluster.All})
	s, read = r.Snapshot(ctx, time.Now)
	if read != nil {
		return read
	}
	_, mended := r.Mend(ctx, l, s)
	_, pruned := r.Prune(ctx, l, s.Nodes)
	_, forgotten := r.Forget(ctx, l)
	return errors.Join(err, leased, held, noted, looked, stamped, tidied, mended, pruned, forgotten, pendingLife(ctx, r), r.ReleaseLease(ctx, l))
}

// pendingLife is what AWS events bring about.
func pendingLife(ctx context.Context, r *cluster.Registry) error {
	stored := r.SwapWork(ctx, nil, "x", "", "{}")
	_, read := r.Work(ctx)
	removed := r.SwapWork(ctx, nil, "x", "{}", "")
	target := cluster.NodeTarget("n5")
	e, paused := r.SwapPause(ctx, target, 0, &cluster.Pause{Mode: cluster.Drain}, "event", "")
	_, lifted := r.SwapPause(ctx, target, e, nil, "event", "")
	_, seen := r.Seen(ctx, "event")
	_, asked := r.Server(ctx)
	noted := r.Note(ctx, nil, "rule.moved", "rule:x", "sweep", "")
	return errors.Join(stored, read, removed, paused, lifted, seen, asked, noted, r.MarkSeen(ctx, "event"))
}

// nodeLifeByCommand is what commands do for nodes that have no agent.
func nodeLifeByCommand(ctx context.Context, r *cluster.Registry) error {
	d, e, registered := r.Register(ctx, node("n1"), active)
	_, pulsed := r.Pulse(ctx, "n1", d.Generation, &cluster.Figures{})
	_, reported := r.Report(ctx, "n1", cluster.Report{Generation: d.Generation, Status: cluster.Paused})
	_, reasserted := r.Reassert(ctx, cluster.NodeTarget("n2"), cluster.Pause{Mode: cluster.Hold, Epoch: e}, "ops")
	_, left := r.Leave(ctx, "n1", d.Generation)
	return errors.Join(registered, pulsed, reported, reasserted, left)
}

// live runs the life of the user called name on a registry made anew, and
// returns all that went wrong.
func (s *aclServer) live(t *testing.T, name string) error {
	t.Helper()
	ctx := shortContext(t)
	require.NoError(t, s.admin.FlushAll(ctx).Err())
	require.NoError(t, s.admin.ScriptFlush(ctx).Err())
	own, err := cluster.NewRegistry(s.admin, "test")
	require.NoError(t, err)
	register(t, own, node("n9"))
	_, err = own.Pause(ctx, cluster.All, cluster.PauseRequest{Mode: cluster.Redirect})
	require.NoError(t, err)
	client := s.as(t, name)
	r, err := cluster.NewRegistry(client, "test")
	require.NoError(t, err)
	err = lives[name](ctx, client, r)
	_ = client.Close()
	if refused := s.refusals(t); len(refused) > 0 {
		err = errors.Join(err, errors.New("refused: "+strings.Join(refused, "; ")))
	}
	return err
}

func TestEachRoleHasTheRightsItNeedsAndNoOther(t *testing.T) {
	t.Parallel()
	s := startACL(t)
	require.Len(t, s.users, len(lives)+1, "and the default user")
	for name := range lives {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, s.live(t, name))
			for right, weaker := range s.users[name].Without() {
				require.NoError(t, s.set(t.Context(), weaker), right)
				assert.Error(t, s.live(t, name), "%s is of no use to %s", right, name)
			}
		})
	}
}

// notHeartbeats are what the redirect function alone writes.
var notHeartbeats = []string{"Counts ride with the epoch", "Places are limited, all in all and by source", "A place ends by itself"}

func TestTheRegistryUnderTheHeartbeatRole(t *testing.T) {
	t.Parallel()
	s := startACL(t)
	r, err := cluster.NewRegistry(s.as(t, "detour-heartbeat"), "test")
	require.NoError(t, err)
	for _, c := range registryTests {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, s.admin.FlushDB(t.Context()).Err())
			if slices.Contains(notHeartbeats, c.name) {
				return
			}
			c.test(t, r, s.admin)
			assert.Empty(t, s.refusals(t))
		})
	}
}

func TestTheFileIsOneThatRedisLoads(t *testing.T) {
	text, err := os.ReadFile(aclFile)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "users.acl")
	withPasswords := strings.ReplaceAll(string(text), " on ", " on >secret ")
	withPasswords = strings.ReplaceAll(withPasswords, " resetpass", "")
	require.NoError(t, os.WriteFile(path, []byte(withPasswords), 0o600))
	s := redistest.Start(t, redistest.WithConfig("aclfile "+path))
	for name := range lives {
		c := dial(t, "redis://"+name+":secret@"+s.Addr)
		assert.NoError(t, c.HGetAll(t.Context(), "{detour:default}:nodes").Err(), name)
		assert.ErrorContains(t, c.HGetAll(t.Context(), "{detour:other}:nodes").Err(), "NOPERM", "another cluster's registry")
	}
	assert.ErrorContains(t, dial(t, s.URL).Time(t.Context()).Err(), "NOAUTH", "nobody gets in without a password")
}
