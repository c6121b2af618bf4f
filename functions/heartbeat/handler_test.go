package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

type world struct {
	handler  *handler
	registry *cluster.Registry
	server   *miniredis.Miniredis
	metrics  *bytes.Buffer
}

func newWorld(t *testing.T, environment ...string) world {
	t.Helper()
	server := miniredis.RunT(t)
	settings := map[string]string{"DETOUR_REDIS_URL": "redis://" + server.Addr()}
	for _, pair := range environment {
		name, value, _ := strings.Cut(pair, "=")
		settings[name] = value
	}
	var metrics bytes.Buffer
	h := newHandler(settings, time.Now, slog.New(slog.DiscardHandler), &metrics)
	client, err := cluster.Dial(settings["DETOUR_REDIS_URL"], time.Second)
	require.NoError(t, err)
	r, err := cluster.NewRegistry(client, "default")
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return world{h, r, server, &metrics}
}

// invoke returns the answer as an object; an error would make Lambda repeat the call.
func (w world) invoke(t *testing.T, ctx context.Context, payload string) map[string]any {
	t.Helper()
	body, err := w.handler.Invoke(ctx, []byte(payload))
	require.NoError(t, err)
	var answer map[string]any
	require.NoError(t, json.Unmarshal(body, &answer), "%s", body)
	return answer
}

func (w world) register(t *testing.T, id string) {
	t.Helper()
	_, _, err := w.registry.Register(t.Context(), cluster.Descriptor{
		ID: id, Group: "blue", Endpoint: "https://" + id + ".example.com", Weight: cluster.DefaultWeight,
	}, cluster.Report{Status: cluster.Active})
	require.NoError(t, err)
}

func TestEveryVerbIsACommand(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct{ payload, has string }{
		{`{"command":"register","node":{"id":"n1","group":"blue","endpoint":"https://n1.example.com"},"load":0.5}`, "generation"},
		{`{"command":"register","node":{"id":"n2","group":"blue","endpoint":"https://n2.example.com"}}`, "generation"},
		{`{"command":"group-put","id":"blue","group":{"service":"shop"}}`, "service"},
		{`{"command":"group-list"}`, "groups"},
		{`{"command":"pause","target":"node:n1","mode":"drain","for_ms":60000,"deadline_ms":1000,"by":"ops","reason":"why"}`, "until_ms"},
		{`{"command":"status"}`, "pauses"},
		{`{"command":"explain","url":"https://app.example.com/x","method":"POST"}`, "location"},
		{`{"command":"resume","target":"node:n1"}`, "was_paused"},
		{`{"command":"sweep"}`, "pruned"},
		{`{"command":"leave","id":"n1"}`, "was_registered"},
		{`{"command":"group-rm","id":"blue"}`, "existed"},
	} {
		answer := w.invoke(t, t.Context(), c.payload)
		assert.NotContains(t, answer, "error", c.payload)
		assert.Contains(t, answer, c.has, c.payload)
	}
}

func TestAGroupGetsTheDefaultTargetGroup(t *testing.T) {
	w := newWorld(t, "DETOUR_TARGET_GROUP=arn:default")
	assert.Equal(t, "arn:default", w.invoke(t, t.Context(), `{"command":"group-put","id":"blue"}`)["detour_target_group"])
	answer := w.invoke(t, t.Context(), `{"command":"group-put","id":"blue","group":{"detour_target_group":"arn:own"}}`)
	assert.Equal(t, "arn:own", answer["detour_target_group"])
	assert.Equal(t, "arn:own", w.invoke(t, t.Context(), `{"command":"group-put","id":"blue","group":{}}`)["detour_target_group"])
}

func TestWhatIsNoCommandDoesNothing(t *testing.T) {
	w := newWorld(t)
	w.register(t, "n1")
	before := w.server.Dump()
	for _, payload := range []string{
		``, `null`, `[]`, `{}`, `{"command":1}`, `{"command":"explode"}`, `{"detail-type":"Something Else","source":"aws.ec2"}`,
		`{"command":"pause"}`, `{"command":"pause","target":"blue"}`, `{"command":"pause","target":"all","mode":"x"}`,
		`{"command":"register"}`, `{"command":"register","node":{"id":"n 9"}}`, `{"command":"leave"}`, `{"command":"explain","url":"x"}`,
		`{"command":"group-put","id":"blue","group":{"id":"green"}}`, `{"command":"group-put","id":"blue","group":[]}`, `{"command":"group-rm"}`,
	} {
		answer := w.invoke(t, t.Context(), payload)
		assert.NotEmpty(t, answer["error"], payload)
		assert.InDelta(t, 2.0, answer["code"], 0, payload)
	}
	assert.Equal(t, before, w.server.Dump())
}

func TestALostRegistryFailsTheCommand(t *testing.T) {
	w := newWorld(t, "DETOUR_REDIS_TIMEOUT=100ms")
	w.server.Close()
	answer := w.invoke(t, t.Context(), `{"command":"status"}`)
	assert.NotEmpty(t, answer["error"])
	assert.InDelta(t, 1.0, answer["code"], 0)
}

func TestAFaultyConfigurationIsTold(t *testing.T) {
	h := newHandler(map[string]string{"DETOUR_REDIS_URL": "redis://h", "DETOUR_SWEEP_EVERY": "soon"}, time.Now, slog.New(slog.DiscardHandler), &bytes.Buffer{})
	answer := world{handler: h}.invoke(t, t.Context(), `{"command":"tick"}`)
	assert.Contains(t, answer["error"], "DETOUR_SWEEP_EVERY")
}

func TestATickSweepsUntilShortlyBeforeItsDeadline(t *testing.T) {
	w := newWorld(t, "DETOUR_SWEEP_EVERY=20ms")
	w.register(t, "n1")
	ctx, cancel := context.WithTimeout(t.Context(), margin+200*time.Millisecond)
	defer cancel()
	began := time.Now()
	answer := w.invoke(t, ctx, `{"command":"tick","time":"`+time.Now().UTC().Format(time.RFC3339)+`"}`)
	assert.Greater(t, answer["sweeps"], 1.0)
	assert.Less(t, time.Since(began), margin, "it ends well before the deadline")
	assert.Contains(t, w.metrics.String(), `"Pruned":0`)
	assert.Contains(t, w.metrics.String(), `"TickAge":`)
	assert.Equal(t, 1, strings.Count(w.metrics.String(), "\n"), "one line a tick")
}

func TestATickThatIsTooOldIsDropped(t *testing.T) {
	w := newWorld(t)
	at := func(age time.Duration) string {
		return `{"command":"tick","time":"` + time.Now().Add(-age).UTC().Format(time.RFC3339) + `"}`
	}
	assert.Equal(t, true, w.invoke(t, t.Context(), at(oldest+2*time.Second))["dropped"])
	assert.NotContains(t, w.invoke(t, t.Context(), at(oldest-2*time.Second)), "dropped")
	assert.NotContains(t, w.invoke(t, t.Context(), `{"command":"tick"}`), "dropped", "without a time it is one of now")
}

func TestAClockThatIsWrongKeepsNoTickFromSweeping(t *testing.T) {
	w := newWorld(t)
	due := time.Now()
	for _, wrong := range []time.Duration{-2 * time.Hour, 2 * time.Hour} {
		w.handler.wall = func() time.Time { return time.Now().Add(wrong) }
		answer := w.invoke(t, t.Context(), `{"command":"tick","time":"`+due.UTC().Format(time.RFC3339)+`"}`)
		assert.NotContains(t, answer, "dropped")
		assert.InDelta(t, 1.0, answer["sweeps"], 0)
	}
}

func TestATickWithoutARegistryIsNoError(t *testing.T) {
	w := newWorld(t, "DETOUR_REDIS_TIMEOUT=100ms")
	w.server.Close()
	answer := w.invoke(t, t.Context(), `{"command":"tick"}`)
	assert.InDelta(t, 1.0, answer["errors"], 0)
	assert.Contains(t, w.metrics.String(), `"RegistryErrors":1`)
}

func TestATickPrunesWhoWentSilent(t *testing.T) {
	w := newWorld(t, "DETOUR_PRUNE_AFTER=1s", "DETOUR_PULSE_TIMEOUT=1s")
	w.register(t, "silent")
	w.register(t, "living")
	_, err := w.server.ZAdd("{detour:default}:pulses", 1000, "silent")
	require.NoError(t, err)
	answer := w.invoke(t, t.Context(), `{"command":"tick"}`)
	assert.InDelta(t, 1.0, answer["pruned"], 0)
	s, err := w.registry.Snapshot(t.Context(), time.Now)
	require.NoError(t, err)
	require.Len(t, s.Nodes, 1)
	assert.Equal(t, "living", s.Nodes[0].ID)
}

// Whatever the payload, there is an answer, and a panic is none.
func FuzzInvoke(f *testing.F) {
	for _, payload := range []string{`{"command":"status"}`, `{"command":"tick"}`, `{`, `{"time":"x"}`, `{"command":"pause","target":"all","for_ms":-1}`} {
		f.Add([]byte(payload))
	}
	h := newHandler(map[string]string{"DETOUR_REDIS_URL": "redis://127.0.0.1:1", "DETOUR_REDIS_TIMEOUT": "10ms"}, time.Now, slog.New(slog.DiscardHandler), &bytes.Buffer{})
	f.Fuzz(func(t *testing.T, payload []byte) {
		body, err := h.Invoke(t.Context(), payload)
		if err != nil || !json.Valid(body) || bytes.Contains(body, []byte("internal error")) {
			t.Errorf("%q gives %q (%v)", payload, body, err)
		}
	})
}
