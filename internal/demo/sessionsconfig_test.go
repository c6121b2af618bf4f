package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestSessionsDefaults(t *testing.T) {
	c, err := SessionsConfig{}.withDefaults()
	require.NoError(t, err)
	assert.Equal(t, SessionsConfig{Rounds: 1, Rate: 250, Nodes: 3, Mode: cluster.Drain, pace: usualSessions()}, c)
	assert.Less(t, c.pace.think*3/2, c.pace.quiet, "a customer of a node that is quiet is gone")
	assert.Less(t, shortSessions().pace.think*3/2, shortSessions().pace.quiet)
}

func TestSessionsLimits(t *testing.T) {
	for _, row := range []struct {
		name string
		c    SessionsConfig
		err  string
	}{
		{"the least of everything", SessionsConfig{Rounds: 1, Rate: 1, Nodes: 2, Deadline: time.Millisecond}, ""},
		{"the most of everything", SessionsConfig{Rounds: maxRounds, Rate: maxRate, Nodes: maxNodes, Deadline: 1000 * time.Hour}, ""},
		{"mode redirect", SessionsConfig{Mode: cluster.Redirect}, ""},
		{"a node alone", SessionsConfig{Nodes: 1}, "1 node, which has nobody to leave newcomers to"},
		{"too many nodes", SessionsConfig{Nodes: maxNodes + 1}, "101 nodes of each group, not 1 to 100"},
		{"too high a rate", SessionsConfig{Rate: maxRate + 1}, "5001 requests per second, not 1 to 5000"},
		{"negative rounds", SessionsConfig{Rounds: -1}, "-1 rounds, not 1 to 1000"},
		{"a mode that is no drain", SessionsConfig{Mode: cluster.Hold}, `mode "hold" is none of drain, redirect`},
		{"a negative deadline", SessionsConfig{Deadline: -time.Second}, "deadline -1s is less than 1ms"},
		{"a deadline that the registry cannot hold", SessionsConfig{Deadline: time.Millisecond - 1}, "deadline 999.999µs is less than 1ms"},
		{"a deadline of a redirect", SessionsConfig{Mode: cluster.Redirect, Deadline: time.Second}, "only a drain has a deadline"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := row.c.withDefaults()
			if row.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrConfig)
			require.ErrorContains(t, err, row.err)
			_, err = RunSessions(t.Context(), row.c, nil)
			require.ErrorIs(t, err, ErrConfig)
		})
	}
}
