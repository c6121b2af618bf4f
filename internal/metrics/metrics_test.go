package metrics

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var now = time.UnixMilli(1_800_000_000_123)

func written(t *testing.T, dims map[string]string, values map[string]float64) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Write(&b, now, dims, values))
	return b.String()
}

// The form is that of AWS, "Specification: Embedded metric format".
func TestWrite(t *testing.T) {
	for _, c := range []struct {
		name   string
		dims   map[string]string
		values map[string]float64
		want   string // empty for nothing
	}{
		{
			"all that the functions measure",
			map[string]string{"Cluster": "default"},
			map[string]float64{"TickAge": 1200, "Pruned": 2, "RegistryErrors": 0, "RulesContested": 1, "AwsUnreachable": 0},
			`{"_aws":{"Timestamp":1800000000123,"CloudWatchMetrics":[{"Namespace":"Detour","Dimensions":[["Cluster"]],"Metrics":[
				{"Name":"AwsUnreachable","Unit":"Count"},{"Name":"Pruned","Unit":"Count"},{"Name":"RegistryErrors","Unit":"Count"},
				{"Name":"RulesContested","Unit":"Count"},{"Name":"TickAge","Unit":"Milliseconds"}]}]},
				"Cluster":"default","AwsUnreachable":0,"Pruned":2,"RegistryErrors":0,"RulesContested":1,"TickAge":1200}`,
		},
		{
			"dimensions are one set, in order",
			map[string]string{"b": "2", "a": "1"},
			map[string]float64{"Pruned": 1},
			`{"_aws":{"Timestamp":1800000000123,"CloudWatchMetrics":[{"Namespace":"Detour","Dimensions":[["a","b"]],
				"Metrics":[{"Name":"Pruned","Unit":"Count"}]}]},"a":"1","b":"2","Pruned":1}`,
		},
		{
			"no dimension is an empty set", nil,
			map[string]float64{"Pruned": 1},
			`{"_aws":{"Timestamp":1800000000123,"CloudWatchMetrics":[{"Namespace":"Detour","Dimensions":[[]],
				"Metrics":[{"Name":"Pruned","Unit":"Count"}]}]},"Pruned":1}`,
		},
		{
			"what CloudWatch refuses is left out",
			map[string]string{"Cluster": ""},
			map[string]float64{"Pruned": 0.5, "a": math.NaN(), "b": math.Inf(1), "c": math.Inf(-1)},
			`{"_aws":{"Timestamp":1800000000123,"CloudWatchMetrics":[{"Namespace":"Detour","Dimensions":[[]],
				"Metrics":[{"Name":"Pruned","Unit":"Count"}]}]},"Pruned":0.5}`,
		},
		{"nothing to tell", map[string]string{"Cluster": "default"}, nil, ""},
		{"no number to tell", nil, map[string]float64{"Pruned": math.NaN()}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := written(t, c.dims, c.values)
			if c.want == "" {
				assert.Empty(t, got)
				return
			}
			assert.JSONEq(t, c.want, got)
		})
	}
}

func TestItIsOneLineWhateverTheNames(t *testing.T) {
	got := written(t, map[string]string{"Cluster": "a\nb\"c<ü>\u2028"}, map[string]float64{"Pruned": 1})
	assert.Equal(t, 1, strings.Count(got, "\n"))
	assert.True(t, strings.HasSuffix(got, "}\n"))
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(got), &line))
	assert.Equal(t, "a\nb\"c<ü>\u2028", line["Cluster"])
}

// once refuses a second write.
type once struct{ writes int }

var errTwice = errors.New("written twice")

func (o *once) Write(p []byte) (int, error) {
	if o.writes++; o.writes > 1 {
		return 0, errTwice
	}
	return len(p), nil
}

func TestALineIsWrittenAtOnce(t *testing.T) {
	var w once
	require.NoError(t, Write(&w, now, nil, map[string]float64{"Pruned": 1}))
	require.ErrorIs(t, Write(&w, now, nil, map[string]float64{"Pruned": 1}), errTwice)
}
