package demo

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDefaults(t *testing.T) {
	c, err := Config{}.withDefaults()
	require.NoError(t, err)
	assert.Equal(t, Config{Rounds: 1, Rate: 250, Nodes: 3, ModuleDir: ".", pace: usual()}, c)
}

func TestLimits(t *testing.T) {
	for _, row := range []struct {
		name string
		c    Config
		err  string
	}{
		{"the most of everything", Config{Rounds: maxRounds, Rate: maxRate, Nodes: maxNodes}, ""},
		{"the least of everything", Config{Rounds: 1, Rate: 1, Nodes: 1}, ""},
		{"negative rounds", Config{Rounds: -1}, "-1 rounds, not 1 to 1000"},
		{"too many rounds", Config{Rounds: maxRounds + 1}, "1001 rounds, not 1 to 1000"},
		{"a negative rate", Config{Rate: -1}, "-1 requests per second, not 1 to 5000"},
		{"too high a rate", Config{Rate: maxRate + 1}, "5001 requests per second, not 1 to 5000"},
		{"negative nodes", Config{Nodes: -1}, "-1 nodes of each group, not 1 to 100"},
		{"too many nodes", Config{Nodes: maxNodes + 1}, "101 nodes of each group, not 1 to 100"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := row.c.withDefaults()
			if row.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrConfig)
			require.ErrorContains(t, err, row.err)
			_, err = Run(t.Context(), row.c, nil)
			require.ErrorIs(t, err, ErrConfig)
		})
	}
}
