package selection

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestParsePolicy(t *testing.T) {
	for _, p := range policies {
		got, err := ParsePolicy(string(p))
		require.NoError(t, err)
		assert.Equal(t, p, got)
	}
	got, err := ParsePolicy("")
	require.NoError(t, err)
	assert.Equal(t, Random, got, "empty means random")

	for _, s := range []string{"Random", "round robin", "least-load ", "maglev"} {
		_, err := ParsePolicy(s)
		require.ErrorIs(t, err, cluster.ErrInvalid)
		assert.ErrorContains(t, err, s)
	}
}

// constant is a source that always draws the same.
type constant uint64

func (c constant) Uint64() uint64 { return uint64(c) }

func TestUnitIsNeverOne(t *testing.T) {
	assert.Zero(t, unit(constant(0)))
	assert.Less(t, unit(constant(1<<64-1)), 1.0)
}

func TestFractionIsNeverZeroOrOne(t *testing.T) {
	assert.Positive(t, fraction(0))
	assert.Less(t, fraction(1<<64-1), 1.0)
}
