package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/buildtest"
)

// BenchmarkSnapshot10000: at most 25 ms in the function, one round trip.
func BenchmarkSnapshot10000(b *testing.B) {
	r, _ := fleet(b, 10_000)
	for b.Loop() {
		s, err := r.Snapshot(b.Context(), time.Now)
		require.NoError(b, err)
		require.Len(b, s.Nodes, 10_000)
	}
}

// BenchmarkMemory10000: at most 48 MB resident after a redirect among 10,000 nodes.
func BenchmarkMemory10000(b *testing.B) {
	_, url := fleet(b, 10_000)
	h := host(b, buildtest.Program(b, "./functions/redirect"), map[string]string{"DETOUR_REDIS_URL": url, "DETOUR_REDIS_TIMEOUT": "2s"})
	for b.Loop() {
		invoke(b, h)
	}
	b.ReportMetric(residentMB(b, h.Pids()[0]), "resident-MB")
}

func residentMB(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if os.IsNotExist(err) {
		b.Skip("this system has no /proc to read the memory of a process from")
	}
	require.NoError(b, err)
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	var kB float64
	_, err = fmt.Sscan(rest, &kB)
	require.NoError(b, err)
	return kB / 1024
}

// BenchmarkBinarySize: the redirect function for arm64 has at most 10 MB.
func BenchmarkBinarySize(b *testing.B) {
	out := filepath.Join(b.TempDir(), "bootstrap")
	for b.Loop() {
		c := exec.CommandContext(b.Context(), "go", "build", "-tags", "lambda.norpc", "-trimpath", "-ldflags", "-s -w", "-o", out, "./functions/redirect")
		c.Dir = ".."
		c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64")
		output, err := c.CombinedOutput()
		require.NoError(b, err, "%s", output)
	}
	info, err := os.Stat(out)
	require.NoError(b, err)
	b.ReportMetric(float64(info.Size())/1e6, "MB")
}
