package locallambda_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/locallambda"
)

// BenchmarkInvoke is a warm invocation of a function that does next to nothing.
func BenchmarkInvoke(b *testing.B) {
	for name, noFreeze := range map[string]bool{"frozen": false, "running": true} {
		b.Run(name, func(b *testing.B) {
			path, err := built()
			require.NoError(b, err)
			h, err := locallambda.New(locallambda.Config{Binary: path, NoFreeze: noFreeze})
			require.NoError(b, err)
			defer h.Close()
			for b.Loop() {
				_, err := h.Invoke(b.Context(), []byte(`{}`))
				require.NoError(b, err)
			}
			b.ReportMetric(float64(h.Stats().LastStart.Microseconds()), "cold-µs")
		})
	}
}
