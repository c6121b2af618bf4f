package albevent_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/albevent"
)

// golden is the request expected of the event beside it.
type golden struct {
	Mode        string   `json:"mode"`
	Method      string   `json:"method"`
	Path        string   `json:"path"`
	Query       string   `json:"query"`
	Header      []string `json:"header"`
	TargetGroup string   `json:"target_group"`
}

func TestDecodeGivesTheRequestOfEachEvent(t *testing.T) {
	for _, name := range eventNames(t) {
		t.Run(name, func(t *testing.T) {
			var want golden
			require.NoError(t, json.Unmarshal(read(t, strings.TrimSuffix(name, ".json")+".golden.json"), &want))
			assert.Equal(t, want, decoded(t, read(t, name)), "with white space")
			assert.Equal(t, want, decoded(t, compact(t, name)), "as sent: without white space")
		})
	}
}

func TestDecodeRefusesEveryCutOffEvent(t *testing.T) {
	raw := compact(t, "get-chrome-http2.json")
	for n := range raw {
		_, _, err := albevent.Decode(raw[:n])
		require.ErrorIs(t, err, albevent.ErrMalformed, "the first %d bytes", n)
	}
}

func decoded(t *testing.T, raw []byte) golden {
	t.Helper()
	req, mode, err := albevent.Decode(raw)
	require.NoError(t, err)
	header := make([]string, 0, len(req.Header))
	for _, f := range req.Header {
		header = append(header, f.Name+": "+f.Value)
	}
	return golden{
		Mode:        map[albevent.Mode]string{albevent.Single: "single", albevent.Multi: "multi"}[mode],
		Method:      req.Method,
		Path:        req.Path,
		Query:       req.Query,
		Header:      header,
		TargetGroup: req.TargetGroup,
	}
}

// eventNames returns the names of the events in testdata.
func eventNames(tb testing.TB) []string {
	tb.Helper()
	paths, err := filepath.Glob("testdata/events/*.json")
	require.NoError(tb, err)
	var names []string
	for _, path := range paths {
		if !strings.HasSuffix(path, ".golden.json") {
			names = append(names, filepath.Base(path))
		}
	}
	require.NotEmpty(tb, names)
	return names
}

func read(tb testing.TB, name string) []byte {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "events", name))
	require.NoError(tb, err)
	return raw
}

// compact returns an event as load balancers send it, without white space.
func compact(tb testing.TB, name string) []byte {
	tb.Helper()
	var b bytes.Buffer
	require.NoError(tb, json.Compact(&b, read(tb, name)))
	return b.Bytes()
}
