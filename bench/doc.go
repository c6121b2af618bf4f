// Package bench measures the figures that are to be kept in sight, each beside
// its reference in one run: machines are shared and noisy, ratios are not. The
// figures of single packages are in their own benchmarks.
package bench
