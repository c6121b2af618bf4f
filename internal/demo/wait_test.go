package demo

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAwait(t *testing.T) {
	for _, row := range []struct {
		name  string
		after time.Duration // until nothing is left
		limit time.Duration
		err   string
		took  time.Duration
	}{
		{"nothing is left", 0, time.Second, "", 0},
		{"it is done before the limit", 500 * time.Millisecond, time.Second, "", 500 * time.Millisecond},
		{"it is not", 2 * time.Second, 990 * time.Millisecond, "blue did not drain within 990ms: 3 in flight", 990 * time.Millisecond},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := await(t.Context(), row.limit, "blue did not drain", func() string {
					if time.Since(began) >= row.after {
						return ""
					}
					return "3 in flight"
				})
				if row.err == "" {
					require.NoError(t, err)
				} else {
					require.EqualError(t, err, row.err)
				}
				assert.Equal(t, row.took, time.Since(began))
			})
		})
	}
}

func TestWaitsEndWithTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1010*time.Millisecond)
		defer cancel()
		began := time.Now()
		require.ErrorIs(t, await(ctx, time.Hour, "", func() string { return "something" }), context.DeadlineExceeded)
		assert.Equal(t, 1010*time.Millisecond, time.Since(began))
		require.ErrorIs(t, rest(ctx, time.Hour), context.DeadlineExceeded)
		require.NoError(t, rest(t.Context(), time.Second))
		assert.Equal(t, 2010*time.Millisecond, time.Since(began))
	})
}
