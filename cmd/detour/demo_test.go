package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestADemoThatCannotBeMeantIsAUsageError(t *testing.T) {
	s := newShell(t)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"a mode without sessions":     {[]string{"--mode", "drain"}, "--sessions"},
		"a deadline without sessions": {[]string{"--deadline", "1s"}, "--sessions"},
		"sessions without detour":     {[]string{"--sessions", "--without-detour"}, "--without-detour"},
		"sessions and a binary":       {[]string{"--sessions", "--binary", "/redirect"}, "--binary"},
		"sessions in another mode":    {[]string{"--sessions", "--mode", "hold"}, "drain, redirect"},
		"a deadline of a redirect":    {[]string{"--sessions", "--mode", "redirect", "--deadline", "1s"}, "only a drain"},
		"a deadline that has passed":  {[]string{"--sessions", "--deadline", "-1s"}, "less than 1ms"},
		"sessions on a node alone":    {[]string{"--sessions", "--nodes", "1"}, "nobody to leave newcomers to"},
		"less than no round":          {[]string{"--rounds", "-1"}, "rounds"},
		"no round":                    {[]string{"--rounds", "0"}, "1 at least"},
		"no request":                  {[]string{"--rate", "0"}, "1 at least"},
		"no node":                     {[]string{"--sessions", "--nodes", "0"}, "1 at least"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := s.call(append([]string{"demo"}, c.args...)...)
			assert.Equal(t, usage, code, stderr)
			assert.Contains(t, stderr, c.says)
			assert.Empty(t, stdout)
			assert.Regexp(t, `^detour: .*\n$`, stderr, "and nothing else")
		})
	}
}

func TestADemoEndsAsItWent(t *testing.T) {
	var out, errs bytes.Buffer
	a := &app{stdout: &out, stderr: &errs}
	require.NoError(t, a.tellDemo(1, 1, "so it went", nil, true))
	require.ErrorIs(t, a.tellDemo(1, 1, "so it went", nil, false), errQuiet)
	assert.Equal(t, "so it went\nso it went\n", out.String())
	require.ErrorIs(t, a.tellDemo(1, 0, "so it went", context.Canceled, true), context.Canceled)
	assert.Empty(t, errs.String(), "nothing went")
	require.ErrorIs(t, a.tellDemo(1, 1, "so it went", context.Canceled, true), context.Canceled)
	assert.Equal(t, "Cut short. Until then: so it went\n", errs.String())

	out.Reset()
	a.json = true
	require.NoError(t, a.tellDemo(map[string]int{"ok": 1}, 1, "so it went", nil, true))
	assert.JSONEq(t, `{"ok":1}`, out.String())
}

func TestADemoWithoutItsFunctionSaysWhatToDo(t *testing.T) {
	code, _, stderr := newShell(t).call("demo", "--binary", "/nonexistent")
	assert.Equal(t, failed, code)
	assert.Contains(t, stderr, "/nonexistent")
	assert.Contains(t, stderr, "→ the redirect function is built from this project's source with Go")
	assert.NotContains(t, stderr, "requests", "none was sent")
}
