package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/command"
)

// shell calls the program as a person would, on a registry of its own.
type shell struct {
	t   *testing.T
	env map[string]string
}

func newShell(t *testing.T) shell {
	t.Helper()
	return shell{t, map[string]string{"DETOUR_REDIS_URL": "redis://" + miniredis.RunT(t).Addr()}}
}

// call returns the exit code and what was written.
func (s shell) call(args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	return s.callWithin(s.t.Context(), args...)
}

func (s shell) callWithin(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	var out, errs bytes.Buffer
	a := &app{environment: s.env, stdout: &out, stderr: &errs}
	code = a.run(ctx, args)
	return code, out.String(), errs.String()
}

func (s shell) ok(args ...string) string {
	s.t.Helper()
	code, stdout, stderr := s.call(args...)
	require.Equal(s.t, done, code, "%v: %s", args, stderr)
	return stdout
}

// object calls with --json and reads the one object on standard output.
func object[T any](s shell, args ...string) T {
	s.t.Helper()
	var v T
	stdout := s.ok(append(args, "--json")...)
	decoder := json.NewDecoder(strings.NewReader(stdout))
	require.NoError(s.t, decoder.Decode(&v), stdout)
	require.False(s.t, decoder.More(), "one object and nothing else")
	return v
}

func (s shell) register(id, group string) {
	s.t.Helper()
	s.ok("register", "--id", id, "--group", group, "--endpoint", "https://"+id+".example.com")
}

func TestADayOfAnOperator(t *testing.T) {
	s := newShell(t)
	s.register("b1", "blue")
	s.register("g1", "green")
	assert.Contains(t, s.ok("status"), "b1")

	paused := object[command.Paused](s, "pause", "group:blue", "--for", "10m", "--reason", "release 42", "--by", "ops")
	assert.Equal(t, []string{"b1"}, paused.Nodes)
	assert.Equal(t, int64(600_000), int64(paused.Until-paused.Since))
	assert.Empty(t, paused.Warnings)

	status := object[command.Status](s, "status")
	require.Len(t, status.Groups, 2)
	assert.True(t, status.Groups[0].Paused)
	assert.False(t, status.Groups[0].Nodes[0].Offered)
	assert.Equal(t, "paused by group:blue: release 42", status.Groups[0].Nodes[0].Why)
	assert.True(t, status.Groups[1].Nodes[0].Offered)
	require.Len(t, status.Pauses, 1)
	assert.Equal(t, "ops", status.Pauses[0].By)
	assert.Equal(t, paused.Epoch, status.Epoch)

	for range 5 {
		x := object[command.Explained](s, "explain", "https://app.example.com/cart?x=1")
		assert.Equal(t, 307, x.StatusCode)
		assert.Equal(t, "g1", x.Node)
		assert.Contains(t, x.Location, "https://g1.example.com/cart?x=1&detour=1.")
		assert.Len(t, x.Nodes, 2)
	}
	code, _, stderr := s.call("pause", "all")
	assert.Equal(t, done, code, "a pause is never refused,")
	assert.Contains(t, stderr, "Nobody is left", "but warns")
	assert.Equal(t, 503, object[command.Explained](s, "explain", "/cart").StatusCode)

	resumed := object[command.Resumed](s, "resume", "group:blue")
	assert.True(t, resumed.WasPaused)
	assert.Equal(t, []string{"Node b1 is still covered by the pause on all (redirect)."}, resumed.Warnings)
	s.ok("resume", "all")
	assert.Contains(t, s.ok("resume", "all"), "was not paused")
	assert.False(t, object[command.Resumed](s, "resume", "node:b1").WasPaused)

	assert.True(t, object[command.Left](s, "leave", "--id", "b1").WasRegistered)
	assert.False(t, object[command.Left](s, "leave", "--id", "b1", "--group", "blue", "--endpoint", "https://b1.example.com").WasRegistered)
}

func TestANodeIsRegisteredWithAllThatIsSaidOfIt(t *testing.T) {
	s := newShell(t)
	s.ok("register", "--id", "n1", "--group", "blue", "--endpoint", "https://n1.example.com/base", "--weight", "50", "--role", "standby",
		"--zone", "a", "--context", "/shop", "--context", "/cart", "--route", "-111", "--route", "r1", "--probe", "https://n1.example.com/up",
		"--target", "i-0", "--task", "t", "--app-version", "7", "--status", "starting", "--load", "0.5")
	n := object[command.Status](s, "status").Groups[0].Nodes[0]
	assert.InDelta(t, 50.0, n.Weight, 0)
	assert.Equal(t, "standby", string(n.Role))
	assert.Equal(t, "starting", string(n.Status))
	assert.Equal(t, "7", n.Version)
	require.NotNil(t, n.Figures)
	assert.InDelta(t, 0.5, n.Figures.Load, 0)
}

func TestAGroupChangesOnlyWhatIsGiven(t *testing.T) {
	s := newShell(t)
	s.ok("group", "put", "blue", "--title", "Blue", "--service", "shop", "--fallback", "green", "--fallback", "red", "--host", "a.example.com", "--cookie", "SID")
	s.ok("group", "put", "blue", "--service", "store", "--strict")
	file := filepath.Join(t.TempDir(), "blue.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"paths":["/shop"],"title":"From the file"}`), 0o600))
	s.ok("group", "put", "blue", "--file", file, "--fallback", "")
	g := object[command.Groups](s, "group", "list").Groups
	require.Len(t, g, 1)
	assert.Equal(t, "store", g[0].Service)
	assert.Equal(t, "From the file", g[0].Title)
	assert.Equal(t, []string{"/shop"}, g[0].Paths)
	assert.Empty(t, g[0].Fallbacks)
	assert.Equal(t, []string{"a.example.com"}, g[0].Hosts)
	assert.Equal(t, "SID", g[0].Affinity.Cookie)
	assert.True(t, g[0].Affinity.Strict)
	assert.Contains(t, s.ok("group", "rm", "blue"), "forgotten")
	assert.Contains(t, s.ok("group", "rm", "blue"), "had no record")
}

func TestAGroupsFileIsOneObjectOfKnownMembers(t *testing.T) {
	s := newShell(t)
	file := filepath.Join(t.TempDir(), "blue.json")
	for text, says := range map[string]string{
		`null`:                         "not one JSON object",
		`[1]`:                          "not one JSON object",
		`{"title":"x"} {"title":"y"}`:  "not one JSON object",
		``:                             "not one JSON object",
		`{"titel":"x"}`:                `unknown field "titel"`,
		`{"affinity":{"cokie":"SID"}}`: `unknown field "cokie"`,
		`{"id":"green"}`:               "names group",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		code, _, stderr := s.call("group", "put", "blue", "--file", file, "--title", "Blue")
		assert.Equal(t, usage, code, text)
		assert.Contains(t, stderr, says, text)
	}
	assert.Empty(t, object[command.Groups](s, "group", "list").Groups)
}

func TestStatusTellsWhatIsUnderWayAndWhenADrainEnds(t *testing.T) {
	s := newShell(t)
	s.register("n1", "blue")
	s.ok("register", "--id", "n2", "--group", "blue", "--endpoint", "https://n2.example.com", "--load", "0.5")
	paused := s.ok("pause", "node:n1", "--mode", "drain", "--deadline", "1h", "--for", "2h", "--by", "ops")
	p := object[command.Status](s, "status").Pauses[0]
	deadline, until := instant(p.Deadline, ""), instant(p.Until, "")
	assert.Contains(t, paused, "covering 1 node, its sessions until "+deadline+", until "+until+"\n")
	var lines []string
	for line := range strings.Lines(s.ok("status")) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	assert.Contains(t, lines, "PAUSED MODE BY DEADLINE UNTIL REASON")
	assert.Contains(t, lines, "node:n1 drain ops "+deadline+" "+until)
	assert.Regexp(t, `blue n1 active no: paused by node:n1 \d\S* - - - https://n1`, lines)
	assert.Regexp(t, `blue n2 active yes \d\S* 0 0 - https://n2`, lines)
}

func TestARuleThatNobodyMovesNowIsLeftToTheSweep(t *testing.T) {
	s := newShell(t)
	s.ok("group", "put", "blue", "--rule", "arn:rule")
	assert.Contains(t, s.ok("pause", "group:blue"), "rule arn:rule: pending the next sweep sees to it\n")
}

func TestASweepTellsWhatItDid(t *testing.T) {
	s := newShell(t)
	s.register("n1", "blue")
	assert.Contains(t, s.ok("sweep"), "1 node, 0 stale, 0 pruned")
}

func TestExitCodes(t *testing.T) {
	s := newShell(t)
	for name, c := range map[string]struct {
		code int
		args []string
		says string
	}{
		"no command shows the help":          {done, []string{}, ""},
		"an unknown command":                 {usage, []string{"frobnicate"}, "frobnicate"},
		"an unknown command of group":        {usage, []string{"group", "frobnicate"}, "frobnicate"},
		"an unknown flag":                    {usage, []string{"status", "--frob"}, "--help"},
		"a command with a typo":              {usage, []string{"pausse", "all"}, "did you mean pause"},
		"a command of group with a typo":     {usage, []string{"group", "lisst"}, "did you mean list?"},
		"a missing target":                   {usage, []string{"pause"}, "detour pause needs TARGET"},
		"a target too many":                  {usage, []string{"pause", "node:a", "b"}, `detour pause does not take "b"`},
		"a target of no kind":                {usage, []string{"pause", "blue"}, "group:ID"},
		"a mode of no kind":                  {usage, []string{"pause", "all", "--mode", "gently"}, "redirect, drain, hold, stop"},
		"a stop that would end by itself":    {usage, []string{"pause", "all", "--mode", "stop", "--for", "1m"}, "resume"},
		"a deadline without a drain":         {usage, []string{"pause", "all", "--deadline", "1m"}, "drain"},
		"a duration without a unit":          {usage, []string{"pause", "all", "--for", "10"}, "--for"},
		"a pause that ends before it begins": {usage, []string{"pause", "all", "--for", "-1m"}, "before it begins"},
		"a pause that lasts for no time":     {usage, []string{"pause", "all", "--for", "0s"}, "--for 0s is less than 1ms"},
		"a pause for less than can be told":  {usage, []string{"pause", "all", "--for", "999us"}, "--for 999µs is less than 1ms"},
		"a deadline less than can be told":   {usage, []string{"pause", "all", "--mode", "drain", "--deadline", "1ns"}, "--deadline 1ns is less than 1ms"},
		"a node that reports no known word":  {usage, []string{"register", "--id", "n1", "--group", "blue", "--endpoint", "https://n1.example.com", "--status", "activ"}, "active, paused"},
		"a probe that cannot be asked":       {usage, []string{"register", "--id", "n1", "--group", "blue", "--endpoint", "https://n1.example.com", "--probe", "/up"}, `--probe "/up"`},
		"a node without a group":             {usage, []string{"register", "--id", "n1", "--endpoint", "https://n1.example.com"}, "--group"},
		"an endpoint that is none":           {usage, []string{"register", "--id", "n1", "--group", "blue", "--endpoint", "n1"}, "http"},
		"an id with a space":                 {usage, []string{"leave", "--id", "n 1"}, "n 1"},
		"a group's path out of form":         {usage, []string{"group", "put", "blue", "--path", "shop"}, "/"},
		"a file that is not there":           {usage, []string{"group", "put", "blue", "--file", "/nonexistent"}, "/nonexistent"},
		"a URL of another kind":              {usage, []string{"explain", "ftp://a.example"}, "ftp"},
		"a registry URL that is none":        {usage, []string{"status", "--redis", "http://a.example"}, "DETOUR_REDIS_URL"},
		"a cluster name with a space":        {usage, []string{"status", "--cluster", "a b"}, "DETOUR_CLUSTER"},
		"a registry that is not there":       {failed, []string{"status", "--redis", "redis://127.0.0.1:1"}, "  → look at --redis"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := s.call(c.args...)
			assert.Equal(t, c.code, code, stderr)
			assert.Contains(t, stderr, c.says)
		})
	}
}

func TestEveryFaultOfTheEnvironmentIsNamed(t *testing.T) {
	s := newShell(t)
	for variable, value := range map[string]string{"DETOUR_POLICY": "best", "DETOUR_PRUNE_MAX": "2", "DETOUR_PROBE": "yes", "DETOUR_FADE_IN": "soon", "DETOUR_CLUSTER": "a b"} {
		s.env[variable] = value
	}
	code, _, stderr := s.call("status")
	assert.Equal(t, usage, code)
	for _, variable := range []string{"DETOUR_POLICY", "DETOUR_PRUNE_MAX", "DETOUR_PROBE", "DETOUR_FADE_IN", "DETOUR_CLUSTER"} {
		assert.Contains(t, stderr, variable)
	}
	code, _, stderr = shell{t, nil}.call("status")
	assert.Equal(t, usage, code)
	assert.Contains(t, stderr, "--redis")
}

// A stranger can use it: every command says what it does, with an example or a
// long text, and no flag is without a word.
func TestEveryCommandExplainsItself(t *testing.T) {
	a := &app{}
	commands := a.root().Commands()
	for len(commands) > 0 {
		c := commands[0]
		commands = append(commands[1:], c.Commands()...)
		if c.Name() == "help" || c.Name() == "completion" || c.Parent().Name() == "completion" {
			continue
		}
		assert.NotEmpty(t, c.Short, c.CommandPath())
		path := strings.Fields(c.CommandPath())[1:]
		code, stdout, _ := newShell(t).call(append(path, "--help")...)
		assert.Equal(t, done, code)
		assert.Contains(t, stdout, "Usage:", c.CommandPath())
	}
}
