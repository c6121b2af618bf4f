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
		"a mode without sessions":        {[]string{"--mode", "drain"}, "--sessions"},
		"a deadline without sessions":    {[]string{"--deadline", "1s"}, "--sessions"},
		"sessions without detour":        {[]string{"--sessions", "--without-detour"}, "--without-detour"},
		"sessions and a binary":          {[]string{"--sessions", "--binary", "/redirect"}, "--binary"},
		"sessions in another mode":       {[]string{"--sessions", "--mode", "hold"}, "drain, redirect"},
		"a deadline of a redirect":       {[]string{"--sessions", "--mode", "redirect", "--deadline", "1s"}, "only a drain"},
		"a deadline that has passed":     {[]string{"--sessions", "--deadline", "-1s"}, "less than 1ms"},
		"sessions on a node alone":       {[]string{"--sessions", "--nodes", "1"}, "nobody to leave newcomers to"},
		"no round at all, of either one": {[]string{"--rounds", "-1"}, "rounds"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := s.call(append([]string{"demo"}, c.args...)...)
			assert.Equal(t, usage, code, stderr)
			assert.Contains(t, stderr, c.says)
			assert.Empty(t, stdout)
		})
	}
}

func TestADemoEndsAsItWent(t *testing.T) {
	var out, errs bytes.Buffer
	a := &app{stdout: &out, stderr: &errs}
	verdict := func() string { return "so it went" }
	require.NoError(t, a.tellDemo(1, verdict, nil, true))
	require.ErrorIs(t, a.tellDemo(1, verdict, nil, false), errQuiet)
	assert.Equal(t, "so it went\nso it went\n", out.String())
	require.ErrorIs(t, a.tellDemo(1, verdict, context.Canceled, true), context.Canceled)
	assert.Equal(t, "so it went\n", errs.String())

	out.Reset()
	a.json = true
	require.NoError(t, a.tellDemo(map[string]int{"ok": 1}, verdict, nil, true))
	assert.JSONEq(t, `{"ok":1}`, out.String())
}
