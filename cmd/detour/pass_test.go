package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/redirect"
)

const passKey = "0123456789abcdef"

func TestAPassOpensTheWayToAPausedNode(t *testing.T) {
	s := newShell(t)
	s.env["DETOUR_PASS_KEY"] = passKey
	s.register("n1", "blue")
	s.register("n2", "blue")
	s.ok("pause", "node:n1", "--mode", "stop")
	p := object[pass](s, "pass", "node:n1", "--for", "10m", "--cookie-domain", "example.com")
	id, ok := redirect.VerifyPass([]byte(passKey), p.Cookie, p.Until-1)
	require.True(t, ok)
	assert.Equal(t, "n1", id)
	assert.WithinDuration(t, time.Now().Add(10*time.Minute), p.Until.Time(), 5*time.Second)
	assert.Equal(t, p.Cookie+"; Path=/; Max-Age=600; HttpOnly; Secure; Domain=example.com", p.SetCookie)
	assert.Contains(t, p.Curl, "'"+p.Cookie+"'")

	x := object[command.Explained](s, "explain", "/x", "--cookie", p.Cookie)
	assert.Equal(t, []string{"n1", "n1"}, []string{x.Node, x.Pass})
	assert.Equal(t, "n2", object[command.Explained](s, "explain", "/x").Node)
	text := s.ok("pass", "node:n1")
	assert.Contains(t, text, "Cookie: detour-pass=n1.")
	assert.NotContains(t, text, "Domain")
}

func TestWhoMayNotHaveAPass(t *testing.T) {
	for name, args := range map[string][]string{
		"a group":           {"group:blue"},
		"no target":         {"n1"},
		"nothing":           {},
		"no time":           {"node:n1", "--for", "0"},
		"a domain's URL":    {"node:n1", "--cookie-domain", "https://example.com"},
		"an attribute more": {"node:n1", "--cookie-domain", "example.com; HttpOnly"},
	} {
		s := shell{t, map[string]string{"DETOUR_PASS_KEY": passKey}}
		code, stdout, _ := s.call(append([]string{"pass"}, args...)...)
		assert.Equal(t, usage, code, name)
		assert.Empty(t, stdout, name)
	}
	for _, key := range []string{"", "0123456789abcde"} {
		code, _, stderr := shell{t, map[string]string{"DETOUR_PASS_KEY": key}}.call("pass", "node:n1")
		assert.Equal(t, usage, code)
		assert.Contains(t, stderr, "DETOUR_PASS_KEY")
	}
}

func TestExplainTellsOfSessionsAndHolds(t *testing.T) {
	s := newShell(t)
	s.ok("register", "--id", "n1", "--group", "blue", "--endpoint", "https://n1.example.com", "--route", "r1")
	s.register("n2", "blue")
	s.ok("pause", "node:n1", "--mode", "drain", "--deadline", "10m")
	x := object[command.Explained](s, "explain", "/x", "--cookie", "JSESSIONID=abc.r1")
	assert.Equal(t, "n1", x.Node)
	assert.Contains(t, x.Session, "session stays with n1: drain until ")
	assert.False(t, x.Hold)
	assert.Contains(t, s.ok("explain", "/x;jsessionid=abc.r1"), "session stays with n1: drain until ")
	s.ok("pause", "all", "--mode", string(cluster.Hold))
	assert.True(t, object[command.Explained](s, "explain", "/x").Hold)
	assert.Contains(t, s.ok("explain", "/x"), "held first")
}
