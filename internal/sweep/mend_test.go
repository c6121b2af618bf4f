package sweep

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestASweepMendsHalfRecordsAndForgetsWhoLeft(t *testing.T) {
	w := newWorld(t)
	w.register("mute", "well")
	ctx := t.Context()
	require.NoError(t, w.raw.ZRem(ctx, prefix+":pulses", "mute").Err())
	require.NoError(t, w.raw.ZAdd(ctx, prefix+":pulses", redis.Z{Score: 1000, Member: "stray"}).Err())
	require.NoError(t, w.raw.HSet(ctx, prefix+":left", "old", "1-a 1000").Err())

	r := w.sweep(usual)
	assert.ElementsMatch(t, []string{"mute", "stray"}, r.Mended)
	assert.Equal(t, []string{"mute", "well"}, w.registered())
	assert.Zero(t, w.raw.HLen(ctx, prefix+":left").Val())
	assert.Equal(t, w.snapshot().Epoch, w.notes().Epoch, "the sweep knows of its own change")
	assert.Empty(t, w.sweep(usual).Mended)
}

// Notes that were lost in part may hide any disturbance.
func TestNotesThatCannotBeReadWithholdPruning(t *testing.T) {
	w := newWorld(t)
	w.register("silent", "well")
	w.pass(time.Hour)
	w.pulse("well")
	require.NoError(t, w.raw.HSet(t.Context(), prefix+":work", "sweep", "{").Err())
	r := w.sweep(usual)
	assert.Equal(t, notesUnreadable, r.Withheld)
	assert.Equal(t, []string{"silent", "well"}, w.registered())
	w.pass(timeout)
	w.pulse("well")
	assert.Equal(t, []string{"silent"}, w.sweep(usual).PrunedIDs)
}
