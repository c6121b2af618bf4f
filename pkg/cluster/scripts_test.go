package cluster

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scriptCommands are the commands that scripts call. ElastiCache Serverless
// refuses TIME in a script, and KEYS, SCAN, CONFIG and CLIENT know no slot.
var scriptCommands = []string{
	"DEL", "GET", "HDEL", "HEXISTS", "HGET", "HSET", "PTTL", "PUBLISH", "SET", "TYPE", "XADD", "XREVRANGE", "ZADD", "ZRANGE", "ZREM", "ZREMRANGEBYSCORE", "ZSCORE",
}

var (
	call     = regexp.MustCompile(`redis\.p?call\(\s*'([A-Z]+)'\s*,\s*([A-Za-z]\w*)\s*[,)]`)
	named    = regexp.MustCompile(`\b(?:local|for)\s+([\w, ]+?)\s*(?:=|in\b|$)|function\s*\w*\s*\(([\w, ]*)\)`)
	unpacked = regexp.MustCompile(`(?m)^local ([\w, ]+) = unpack\(KEYS\)$`)
	comment  = regexp.MustCompile(`--[^\n]*`)
	counter  = regexp.MustCompile(`\b(?:number|rise)\((\w*)`)
)

// alone are the scripts that declare their one key themselves: the registry's
// others are not their user's to write.
var alone = map[string]bool{"hold.lua": true}

// luaFiles returns the scripts, without comments, by file name.
func luaFiles(t *testing.T) map[string]string {
	t.Helper()
	entries, err := os.ReadDir("lua")
	require.NoError(t, err)
	files := make(map[string]string)
	for _, e := range entries {
		text, err := os.ReadFile("lua/" + e.Name())
		require.NoError(t, err)
		files[e.Name()] = comment.ReplaceAllString(string(text), "")
	}
	return files
}

// keyNames are the names that common.lua gives to KEYS, in order.
func keyNames(t *testing.T) []string {
	t.Helper()
	found := unpacked.FindStringSubmatch(luaFiles(t)["common.lua"])
	require.NotNil(t, found)
	return strings.Split(found[1], ", ")
}

func TestScriptsNameTheirKeysInTheOrderThatTheyGet(t *testing.T) {
	r, err := NewRegistry(nil, "test")
	require.NoError(t, err)
	want := make([]string, 0, 12)
	for _, key := range r.keys.declared() {
		name, ok := strings.CutPrefix(key, "{detour:test}:")
		require.True(t, ok, "%s is in the cluster's slot", key)
		want = append(want, name)
	}
	assert.Equal(t, want, keyNames(t))
}

// A server that runs scripts elsewhere than it keeps keys must know them before,
// and one that copies scripts to replicas gives them no clock.
func TestScriptsAskForDeclaredKeysAndNoClock(t *testing.T) {
	keys := keyNames(t)
	var used []string
	for name, text := range luaFiles(t) {
		for _, fault := range lint(name, text, keys) {
			if !alone[name] {
				t.Error(fault)
			}
		}
		if alone[name] {
			assert.Empty(t, lint("common.lua", text, []string{"places"}), name)
		}
		for _, c := range call.FindAllStringSubmatch(text, -1) {
			used = append(used, c[1])
		}
	}
	slices.Sort(used)
	assert.Equal(t, scriptCommands, slices.Compact(used))
}

// lint returns what is wrong with a script. Three helpers of common.lua take a
// key as their parameter: whoever calls them is looked at in turn.
func lint(name, text string, keys []string) (faults []string) {
	common := name == "common.lua"
	fault := func(what, where string) { faults = append(faults, name+": "+what+": "+where) }
	calls := call.FindAllStringSubmatch(text, -1)
	if n := strings.Count(text, "redis.") - strings.Count(text, "redis.error_reply("); n != len(calls) {
		fault("calls that are not of the form redis.call('NAME', key", text)
	}
	for _, c := range calls {
		known := slices.Contains(keys, c[2]) || c[1] == "PUBLISH" && c[2] == "channel" || common && c[2] == "key"
		if !known {
			fault("undeclared key", c[0])
		}
	}
	for _, c := range counter.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(keys, c[1]) && (!common || c[1] != "key") {
			fault("undeclared key", c[0])
		}
	}
	if strings.Contains(text, "KEYS") && !common || strings.Count(text, "KEYS") > 1 {
		fault("KEYS by number", text)
	}
	for _, word := range []string{"loadstring", "_G", "getfenv", "setfenv", "os."} {
		if strings.Contains(text, word) {
			fault("what hides a call", word)
		}
	}
	if !common {
		faults = append(faults, shadowed(name, text, keys)...)
	}
	return faults
}

// shadowed finds names of keys that a script uses for something else.
func shadowed(name, text string, keys []string) (faults []string) {
	for line := range strings.Lines(text) {
		for _, found := range named.FindAllStringSubmatch(strings.TrimSpace(line), -1) {
			for _, word := range strings.Split(found[1]+","+found[2], ",") {
				if word = strings.TrimSpace(word); slices.Contains(append(keys, "now", "channel"), word) {
					faults = append(faults, name+": hides the key "+word+": "+line)
				}
			}
		}
	}
	return faults
}

func TestTheLintFindsWhatItIsFor(t *testing.T) {
	keys := []string{"nodes", "left"}
	assert.Empty(t, lint("a.lua", "local id = ARGV[3]\nredis.call('HGET', nodes, id)\nrise(left)\nreturn redis.error_reply('x')", keys))
	for _, text := range []string{
		"redis.call('TIME')",
		"redis.call('HGET', nodes .. ':x', id)",
		"redis.call('GET', '{detour:test}:x')",
		"redis.call('GET', KEYS[3])",
		"redis.call('GET', ARGV[3])",
		"redis.call(command, nodes)",
		"local call = redis.call",
		"rise(other)",
		"local nodes = ARGV[3]",
		"for _, left in ipairs(x) do",
		"local function f(id, nodes)",
		"loadstring(ARGV[3])()",
	} {
		assert.NotEmpty(t, lint("a.lua", text, keys), text)
	}
}

// Every file is embedded, and every script but those alone begins with what is
// common to all.
func TestEveryScriptIsShippedWhole(t *testing.T) {
	var source []byte
	for _, file := range []string{"scripts.go", "work.go", "hold.go", "note.go"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		source = append(source, text...)
	}
	for file := range luaFiles(t) {
		name := strings.TrimSuffix(file, ".lua")
		assert.Contains(t, string(source), "//go:embed lua/"+file+"\nvar "+name+"Lua string\n")
		if name != "common" && !alone[file] {
			assert.Contains(t, string(source), "redis.NewScript(commonLua + "+name+"Lua)")
		}
	}
}

func TestTheDocsNameEveryKey(t *testing.T) {
	text, err := os.ReadFile("../../docs/registry.md")
	require.NoError(t, err)
	docs := string(text)
	r, err := NewRegistry(nil, "test")
	require.NoError(t, err)
	for _, key := range append(r.keys.declared(), r.keys.stats+"<minute>", r.keys.holds, r.keys.seen()) {
		_, name, _ := strings.Cut(key, "}")
		assert.Contains(t, docs, "\n| `"+name+"` | ", "a row of what it holds")
	}
	assert.Contains(t, docs, "KEYS = "+strings.Join(keyNames(t), " ")+"\n")
	assert.Contains(t, docs, "`{detour:NAME}"+strings.TrimPrefix(r.keys.changes, "{detour:test}")+"`")
}
