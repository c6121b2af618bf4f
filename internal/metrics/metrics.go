// Package metrics writes figures that CloudWatch Logs turns into metrics: its
// Embedded Metric Format, one line of JSON on the function's standard output and
// no call to any API (AWS, "Specification: Embedded metric format").
package metrics

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"
)

// Namespace is that of all of Detour's metrics.
const Namespace = "Detour"

// directive says which members of the line are metrics, and by what they are told
// apart.
type directive struct {
	Namespace  string
	Dimensions [][]string // one set of names
	Metrics    []metric
}

type metric struct{ Name, Unit string }

// Write writes values, by metric name, as they are at now, this machine's time,
// told apart by dims: names of at most 30 dimensions and their values, none of
// them a metric's name. What CloudWatch refuses is left out, a value that is no
// number or infinite, and a dimension that is empty; with no value left nothing
// is written. The line is one Write of w.
func Write(w io.Writer, now time.Time, dims map[string]string, values map[string]float64) error {
	line := make(map[string]any, len(dims)+len(values)+1)
	d := directive{Namespace: Namespace, Dimensions: [][]string{{}}}
	for _, name := range slices.Sorted(maps.Keys(dims)) {
		if dims[name] != "" {
			d.Dimensions[0] = append(d.Dimensions[0], name)
			line[name] = dims[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if v := values[name]; !math.IsNaN(v) && !math.IsInf(v, 0) {
			d.Metrics = append(d.Metrics, metric{name, unit(name)})
			line[name] = v
		}
	}
	if len(d.Metrics) == 0 {
		return nil
	}
	line["_aws"] = map[string]any{"Timestamp": now.UnixMilli(), "CloudWatchMetrics": []directive{d}}
	body, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("encode metrics: %w", err)
	}
	if _, err := w.Write(append(body, '\n')); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}

// unit returns CloudWatch's word for what a metric is measured in.
func unit(name string) string {
	switch name {
	case "TickAge":
		return "Milliseconds"
	default:
		return "Count"
	}
}
