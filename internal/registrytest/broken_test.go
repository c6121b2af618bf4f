package registrytest_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/internal/sweep"
	"github.com/detourhq/detour/pkg/cluster"
)

var (
	huge   = strings.Repeat("x", 1<<20)
	nested = strings.Repeat("[", 100_000)
)

// breakage is one thing that should not be in the registry.
type breakage struct {
	name string
	do   []any          // the Redis command that puts it there; a key is named after ':'
	want map[string]int // key → entries that are told to be broken
}

func in(key string) map[string]int { return map[string]int{key: 1} }

// record puts body in field of the hash called key.
func record(key, field, body string) []any { return []any{"HSET", ":" + key, field, body} }

// living is a node that goes on pulsing, whatever becomes of its record.
const living = "n1"

var breakages = []breakage{
	{"a descriptor cut off", record("nodes", living, `{`), in("nodes")},
	{"an empty one", record("nodes", living, ``), in("nodes")},
	{"null for one", record("nodes", living, `null`), in("nodes")},
	{"a list for one", record("nodes", living, `[]`), in("nodes")},
	{"a number for one", record("nodes", living, `7`), in("nodes")},
	{"5 MB that are no JSON", record("nodes", living, strings.Repeat("x", 5<<20)), in("nodes")},
	{"a descriptor nested too deep", record("nodes", living, nested), in("nodes")},
	{"half a descriptor", record("nodes", living, `{"id":"n1","group":"blue"}`), in("nodes")},
	{"one of another node", record("nodes", living, `{"id":"n2","group":"blue","endpoint":"https://n2.example.com"}`), in("nodes")},
	{"one with a weight that is no number", record("nodes", living, `{"id":"n1","group":"blue","endpoint":"https://a.example","weight":"x"}`), in("nodes")},
	{"one with a weight beyond numbers", record("nodes", living, `{"id":"n1","group":"blue","endpoint":"https://a.example","weight":1`+strings.Repeat("0", 1<<18)+`}`), in("nodes")},
	{"one with a role of 1 MB", record("nodes", living, `{"id":"n1","group":"blue","endpoint":"https://a.example","role":"`+huge+`"}`), in("nodes")},
	{"one with a generation that is no string", record("nodes", living, `{"id":"n1","group":"blue","endpoint":"https://a.example","generation":{}}`), in("nodes")},
	{"one with a generation out of form", record("nodes", living, `{"id":"n1","group":"blue","endpoint":"https://a.example","generation":"zzz"}`), nil},
	{"one with a generation after the end of time", record("nodes", living, `{"id":"n1","group":"blue","endpoint":"https://a.example","generation":"99999999999999999999-a"}`), nil},
	{"bytes that are no text", record("nodes", living, "{\"id\":\"\xff\"}"), in("nodes")},
	{"a field that is no id", record("nodes", "a b\x00\x1b[31m", `{}`), in("nodes")},
	{"an empty field", record("nodes", "", `{}`), in("nodes")},
	{"a field of 1 MB", record("nodes", huge, `{}`), in("nodes")},

	{"no pulse", []any{"ZREM", ":pulses", living}, in("pulses")},
	{"a pulse at plus infinity", []any{"ZADD", ":pulses", "inf", living}, nil},
	{"one at minus infinity", []any{"ZADD", ":pulses", "-inf", living}, nil},
	{"one beyond whole numbers", []any{"ZADD", ":pulses", "1e300", living}, nil},
	{"one between them", []any{"ZADD", ":pulses", "1000.5", living}, nil},
	{"a negative one", []any{"ZADD", ":pulses", "-5", living}, nil},
	{"a pulse of nobody", []any{"ZADD", ":pulses", "5", huge}, nil},

	{"a report cut off", record("reports", living, `{"status":`), in("reports")},
	{"an empty report", record("reports", living, ``), in("reports")},
	{"null for a report", record("reports", living, `null`), nil},
	{"1 MB for a report", record("reports", living, huge), in("reports")},
	{"a report of another life", record("reports", living, `{"generation":"1-a","status":"active"}`), nil},
	{"one with a status that is no word", record("reports", living, `{"status":{}}`), in("reports")},
	{"a report of nobody", record("reports", "nobody", nested), nil},

	{"figures cut off", record("figures", living, `{"load"`), in("figures")},
	{"empty figures", record("figures", living, ``), in("figures")},
	{"a load beyond numbers", record("figures", living, `{"load":1e999}`), in("figures")},
	{"1 MB for figures", record("figures", living, huge), in("figures")},
	{"figures of nobody", record("figures", "nobody", huge), nil},

	{"a pause on nothing there is", record("pauses", "planet:earth", `{}`), in("pauses")},
	{"a pause on 1 MB", record("pauses", "node:"+huge, `{}`), in("pauses")},
	{"an unreadable pause", record("pauses", "node:n1", huge), in("pauses")},
	{"an empty one", record("pauses", "node:n1", ``), in("pauses")},
	{"one with an end that is no time", record("pauses", "node:n1", `{"until_ms":"soon"}`), in("pauses")},
	{"one with an end beyond numbers", record("pauses", "node:n1", `{"until_ms":1e30}`), in("pauses")},

	{"a group cut off", record("groups", "blue", `{`), in("groups")},
	{"an empty group", record("groups", "blue", ``), in("groups")},
	{"1 MB for a group", record("groups", "blue", huge), in("groups")},
	{"a group with a path out of form", record("groups", "blue", `{"paths":["x"]}`), in("groups")},
	{"a group that is no id", record("groups", "{blue}", `{}`), in("groups")},

	{"no epoch", []any{"DEL", ":epoch"}, nil},
	{"an empty epoch", []any{"SET", ":epoch", ""}, nil},
	{"an epoch that is no number", []any{"SET", ":epoch", "nan"}, nil},
	{"one of 1 MB", []any{"SET", ":epoch", huge}, nil},
	{"one after the end of time", []any{"SET", ":epoch", "99999999999999999999"}, nil},
	{"a negative one", []any{"SET", ":epoch", "-5"}, nil},

	{"a tombstone out of form", record("left", "n3", `x`), nil},
	{"an empty one", record("left", "n3", ``), nil},
	{"one of 1 MB", record("left", "n3", huge), nil},
	{"one of a life after the end of time", record("left", "n3", `99999999999999999999-a 1`), nil},

	{"a fence that is no number", []any{"SET", ":fence", "nan"}, nil},
	{"one of 1 MB", []any{"SET", ":fence", huge}, nil},
	{"one after the end of time", []any{"SET", ":fence", "1e300"}, nil},
	{"a lease without an end", []any{"SET", ":lease", huge}, nil},
	{"a lease of nobody, soon over", []any{"SET", ":lease", huge, "PX", "1"}, nil},

	{"notes cut off", record("work", "sweep", `{`), nil},
	{"notes of 1 MB", record("work", "sweep", huge), nil},
	{"work that nobody knows", record("work", "x", huge), nil},
	{"an event without anything", []any{"XADD", ":events", "*", "x", huge}, nil},
	{"an event after which there is no other", []any{"XADD", ":events", "18446744073709551615-18446744073709551615", "x", "y"}, nil},
}

// registry is one on a real server with two nodes, a pause and a group.
type registry struct {
	*cluster.Registry
	raw  redis.UniversalClient
	node cluster.Descriptor // the living one
}

func newRegistry(t *testing.T, r *cluster.Registry, raw redis.UniversalClient) registry {
	t.Helper()
	require.NoError(t, raw.FlushAll(t.Context()).Err())
	w := registry{Registry: r, raw: raw}
	w.node = w.register(t, living)
	w.register(t, "n2")
	_, err := r.ChangeGroup(t.Context(), "green", func(*cluster.Group) error { return nil })
	require.NoError(t, err)
	return w
}

func (w registry) register(t *testing.T, id string) cluster.Descriptor {
	t.Helper()
	d, _, err := w.Register(t.Context(), cluster.Descriptor{
		ID: id, Group: "blue", Endpoint: "https://" + id + ".example.com", Weight: cluster.DefaultWeight,
	}, cluster.Report{Status: cluster.Active})
	require.NoError(t, err)
	return d
}

func (w registry) smash(t *testing.T, do []any) {
	t.Helper()
	args := append([]any{}, do...)
	args[1] = prefix + args[1].(string)
	require.NoError(t, w.raw.Do(t.Context(), args...).Err())
}

func (w registry) sweeper() *sweep.Sweeper {
	return sweep.New(w.Registry, sweep.Config{PulseTimeout: time.Minute, PruneAfter: time.Hour}, nil, time.Now, slog.New(slog.DiscardHandler))
}

// tells returns what `detour status` tells to be broken, by key.
func (w registry) tells(t *testing.T) map[string]int {
	t.Helper()
	runner := &command.Runner{Cluster: "test", Registry: w.Registry, Sweeper: w.sweeper(), Wall: time.Now}
	answer, err := runner.Run(t.Context(), command.Command{Verb: "status"})
	require.NoError(t, err)
	status := answer.(*command.Status)
	var broken map[string]int
	for _, b := range status.Broken {
		if broken == nil {
			broken = make(map[string]int)
		}
		broken[b.Key]++
		assert.NotEmpty(t, b.Error)
		assert.Less(t, len(b.Key)+len(b.Field)+len(b.Error), 1000, "and does not repeat all of it")
	}
	return broken
}

// goOn does what everybody else does meanwhile.
func (w registry) goOn(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	d := w.register(t, "n3")
	_, err := w.Pulse(ctx, "n3", d.Generation, &cluster.Figures{Load: 1})
	require.NoError(t, err)
	_, err = w.Report(ctx, "n3", cluster.Report{Generation: d.Generation, Status: cluster.Overloaded})
	require.NoError(t, err)
	p, err := w.Pause(ctx, cluster.GroupTarget("green"), cluster.PauseRequest{Mode: cluster.Drain})
	require.NoError(t, err)
	_, was, err := w.Resume(ctx, cluster.GroupTarget("green"), "ops", "")
	require.NoError(t, err)
	assert.True(t, was)
	_, err = w.Reassert(ctx, cluster.GroupTarget("green"), p, "n3")
	require.NoError(t, err)
	_, err = w.ChangeGroup(ctx, "green", func(g *cluster.Group) error { g.Title = "Green"; return nil })
	require.NoError(t, err)
	result, err := w.sweeper().Sweep(ctx)
	require.NoError(t, err)
	assert.False(t, result.Held)
	_, err = w.Leave(ctx, "n3", d.Generation)
	require.NoError(t, err)
}

// lives is what the living node's agent does with each pulse, and after a change.
func (w registry) lives(t *testing.T) {
	t.Helper()
	rep := cluster.Report{Generation: w.node.Generation, Status: cluster.Active}
	_, err := w.Pulse(t.Context(), living, w.node.Generation, &cluster.Figures{})
	if errors.Is(err, cluster.ErrUnknown) {
		_, _, err = w.Register(t.Context(), w.node, rep)
		require.NoError(t, err)
		_, err = w.Pulse(t.Context(), living, w.node.Generation, &cluster.Figures{})
	}
	require.NoError(t, err)
	_, err = w.Report(t.Context(), living, rep)
	require.NoError(t, err)
}

func TestNoRecordIsSoBrokenThatOthersSufferByIt(t *testing.T) {
	r, raw := open(t, redistest.Start(t).URL)
	for _, b := range breakages {
		t.Run(b.name, func(t *testing.T) {
			w := newRegistry(t, r, raw)
			w.smash(t, b.do)
			assert.Equal(t, b.want, w.tells(t))
			n, ok := snapshot(t, r).Node("n2")
			require.True(t, ok, "the other node is as it was")
			assert.Equal(t, cluster.Active, n.Report.Status)
			w.goOn(t)
			w.lives(t)
			n, ok = snapshot(t, r).Node(living)
			require.True(t, ok, "whoever lives puts it right")
			assert.Equal(t, w.node, n.Descriptor)
			assert.Equal(t, cluster.Active, n.Report.Status)
			assert.NotNil(t, n.Figures)
			s := snapshot(t, r)
			assert.InDelta(t, float64(s.Time), float64(n.Pulse), 10_000)
			assert.InDelta(t, float64(s.Time), float64(s.Epoch), 10_000, "the epoch follows the clock again")
		})
	}
}

// What would make a stamp incomparable cannot be stored.
func TestRedisTakesNoScoreThatIsNotANumber(t *testing.T) {
	_, raw := open(t, redistest.Start(t).URL)
	assert.ErrorContains(t, raw.Do(t.Context(), "ZADD", "z", "nan", "n1").Err(), "not a valid float")
}

// read are the keys that a snapshot is made of.
var read = []string{"nodes", "reports", "figures", "pulses", "pauses", "groups", "epoch"}

// A key of another type is not a broken record: nobody knows what was there.
func TestAKeyOfAnotherTypeIsARegistryLost(t *testing.T) {
	r, raw := open(t, redistest.Start(t).URL)
	for _, key := range append([]string{"left", "lease", "fence", "events", "work"}, read...) {
		t.Run(key, func(t *testing.T) {
			w := newRegistry(t, r, raw)
			cache := cluster.NewCache(r, cluster.CacheConfig{StaleIfError: time.Minute}, time.Now)
			_, _, err := cache.Snapshot(t.Context())
			require.NoError(t, err)
			w.smash(t, []any{"DEL", ":" + key})
			w.smash(t, []any{"GEOADD", ":" + key, "0", "0", "x"})
			if key == "pulses" { // which is a sorted set itself
				w.smash(t, []any{"DEL", ":" + key})
				w.smash(t, record(key, "x", "y"))
			}
			_, _, err = r.Register(t.Context(), w.node, cluster.Report{Status: cluster.Paused})
			require.ErrorContains(t, err, prefix+":"+key+" is a ", "no change is made in half")
			_, err = r.Snapshot(t.Context(), time.Now)
			if slices.Contains(read, key) {
				require.ErrorContains(t, err, "WRONGTYPE")
			} else {
				require.NoError(t, err)
			}
			s, _, _ := cache.Snapshot(t.Context())
			require.NotNil(t, s, "requests are served by the last one known")
			assert.Len(t, s.Nodes, 2)
			w.smash(t, []any{"DEL", ":" + key})
			w.lives(t)
			assert.Equal(t, cluster.Active, snapshot(t, r).Nodes[0].Report.Status)
		})
	}
}
