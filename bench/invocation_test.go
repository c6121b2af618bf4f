package bench

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/buildtest"
)

// median is what a shared machine spoils least.
func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// BenchmarkWarmInvocation: with a fresh snapshot at most 1.15 × a no-op; with
// freshness 0 at most a no-op and 1.3 × one GET.
func BenchmarkWarmInvocation(b *testing.B) {
	_, url := fleet(b, 10)
	noop := host(b, buildtest.Program(b, "./bench/noop"), nil)
	binary := buildtest.Program(b, "./functions/redirect")
	fresh := host(b, binary, map[string]string{"DETOUR_REDIS_URL": url, "DETOUR_FRESHNESS": "1h", "DETOUR_PULSE_EVERY": "1h"})
	asking := host(b, binary, map[string]string{"DETOUR_REDIS_URL": url, "DETOUR_PULSE_EVERY": "1h"})
	options, err := redis.ParseURL(url)
	require.NoError(b, err)
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()

	var nothing, snapshot, epoch, get []time.Duration
	for b.Loop() {
		nothing = append(nothing, invoke(b, noop))
		snapshot = append(snapshot, invoke(b, fresh))
		epoch = append(epoch, invoke(b, asking))
		began := time.Now()
		require.NoError(b, client.Get(b.Context(), "{detour:default}:epoch").Err())
		get = append(get, time.Since(began))
	}
	base, bare := median(nothing), median(get)
	b.ReportMetric(micros(base), "noop-µs")
	b.ReportMetric(micros(bare), "get-µs")
	b.ReportMetric(float64(median(snapshot))/float64(base), "fresh/noop")
	b.ReportMetric(float64(median(epoch)-base)/float64(bare), "(freshness0-noop)/get")
}

// BenchmarkColdStart: to the first request for work, at most a no-op and 8 ms.
func BenchmarkColdStart(b *testing.B) {
	_, url := fleet(b, 10)
	noop, redirect := buildtest.Program(b, "./bench/noop"), buildtest.Program(b, "./functions/redirect")
	start := func(binary string) time.Duration {
		h := host(b, binary, map[string]string{"DETOUR_REDIS_URL": url})
		defer h.Close()
		invoke(b, h)
		return h.Stats().LastStart
	}
	var nothing, ours []time.Duration
	for b.Loop() {
		nothing = append(nothing, start(noop))
		ours = append(ours, start(redirect))
	}
	b.ReportMetric(micros(median(nothing))/1e3, "noop-ms")
	b.ReportMetric(micros(median(ours)-median(nothing))/1e3, "more-ms")
}

// BenchmarkFirstAnswerWithoutRegistry: within 500 ms, from a cold start on, where
// the registry's address takes connections and never answers.
func BenchmarkFirstAnswerWithoutRegistry(b *testing.B) {
	var config net.ListenConfig
	silent, err := config.Listen(b.Context(), "tcp", "127.0.0.1:0")
	require.NoError(b, err)
	defer func() { _ = silent.Close() }()
	redirect := buildtest.Program(b, "./functions/redirect")
	var worst time.Duration
	for b.Loop() {
		h := host(b, redirect, map[string]string{"DETOUR_REDIS_URL": "redis://" + silent.Addr().String()})
		worst = max(worst, invoke(b, h))
		h.Close()
	}
	b.ReportMetric(micros(worst)/1e3, "worst-ms")
}
