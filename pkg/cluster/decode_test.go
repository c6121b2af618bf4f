package cluster

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var records = []string{
	`{"id":"n1","group":"blue","generation":"1796000000000-0a","endpoint":"https://n1.example.com","weight":100,"pulse_ms":5000,"started_ms":1796000000000}`,
	`{"id":"n1","weight":0.5,"role":"standby","zone":"a","contexts":["/","/shop"],"routes":[],"probe":"p","target":"t","task":"k","version":"7"}`,
	`{"generation":"1-a","status":"active","reason":"why"}`, `{"generation":"1-a","status":"paused","contexts":{"/shop":"paused"}}`,
	`{"load":0.25,"inflight":3,"sessions":-1,"arrivals":12,"last_arrival_ms":1796000000000,"seen_epoch":1796000000000}`,
	`{}`, `{ }`, ``, `null`, `[]`, `{"id":null}`, `{"ID":"n1"}`, `{"id":"\u0041"}`, `{"id":"ü"}`, "{\"id\":\"\xff\"}", `{"id":"a","id":"b"}`, `{"id":"a",}`, `{"id":"a"}x`,
	`{"id":1}`, `{"weight":"1"}`, `{"weight":01}`, `{"weight":-0}`, `{"weight":1.}`, `{"weight":.5}`, `{"weight":1.e5}`, `{"weight":1e5}`, `{"weight":+1}`,
	`{"weight":1e999}`, `{"weight":0.1e1}`, `{"weight":0e}`, `{"pulse_ms":1.5}`, `{"pulse_ms":1e3}`, `{"pulse_ms":99999999999999999999}`, `{"pulse_ms":-0}`,
	`{"contexts":["/",]}`, `{"contexts":[,"/"]}`, `{"contexts":["/" ]}`, `{"contexts":null}`, `{"unknown":1}`, `{"load":-0.0}`, `{"load":00.5}`, `{"load":-}`, `{"load":1-1}`, `{"load":0x1p1}`,
}

// same reports by t if our reading of body is another than encoding/json's.
func same[T any](t *testing.T, body string, ours func(string, *T) error) {
	t.Helper()
	var got, want T
	gotErr, wantErr := ours(body, &got), json.Unmarshal([]byte(body), &want)
	if (gotErr == nil) != (wantErr == nil) {
		t.Errorf("%q: %v, encoding/json says %v", body, gotErr, wantErr)
	}
	if gotErr == nil && !reflect.DeepEqual(got, want) {
		t.Errorf("%q: %+v, encoding/json says %+v", body, got, want)
	}
}

func TestRecordsMeanWhatEncodingJSONSays(t *testing.T) {
	for _, body := range records {
		same(t, body, decodeDescriptor)
		same(t, body, decodeReport)
		same(t, body, decodeFigures)
	}
}

func FuzzDecode(f *testing.F) {
	for _, body := range records {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		same(t, body, decodeDescriptor)
		same(t, body, decodeReport)
		same(t, body, decodeFigures)
	})
}

// What the registry writes takes the fast way: else a change of the types would
// cost it silently.
func TestWhatWeWriteIsReadByHand(t *testing.T) {
	d := Descriptor{
		ID: "n1", Group: "g", Generation: "1-a", Endpoint: "https://n1.example.com", Weight: 0.1, Role: App, Zone: "z", Contexts: []string{"/a", "/b"},
		Routes: []string{"r"}, Probe: "p", Target: "t", Task: "k", Version: "v", PulseMS: 5000, Started: math.MaxInt64,
	}
	r := Report{Generation: "1-a", Status: Active, Reason: "why"}
	g := Figures{Load: 1e-7, InFlight: 1, Sessions: 2, Arrivals: 3, LastArrival: 4, Gap: 40, SeenEpoch: 5}
	for _, c := range []struct {
		record any
		member func(string, *scanner)
	}{{d, new(Descriptor).member}, {r, new(Report).member}, {g, new(Figures).member}} {
		v := reflect.ValueOf(c.record)
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "Contexts" || v.Type() == reflect.TypeFor[Descriptor]() {
				assert.False(t, v.Field(i).IsZero(), "%T.%s is set here", c.record, name)
			}
		}
		body, err := json.Marshal(c.record)
		require.NoError(t, err)
		assert.True(t, scan(string(body), c.member), "%s", body)
	}
}

func BenchmarkDecodeDescriptor(b *testing.B) {
	var d Descriptor
	b.ReportAllocs()
	for b.Loop() {
		if err := decodeDescriptor(records[0], &d); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeDescriptorStdlib(b *testing.B) {
	var d Descriptor
	b.ReportAllocs()
	for b.Loop() {
		if err := json.Unmarshal([]byte(records[0]), &d); err != nil {
			b.Fatal(err)
		}
	}
}
