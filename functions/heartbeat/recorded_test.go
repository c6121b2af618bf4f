package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recorded returns every event that was recorded, by the name of its file.
func recorded(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("../../internal/awsevents/testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := make(map[string][]byte)
	for _, f := range files {
		all[strings.TrimSuffix(filepath.Base(f), ".json")], err = os.ReadFile(f)
		require.NoError(t, err)
	}
	return all
}

// heard checks the form of an answer: ECS wants a status of its own, a batch is
// answered one by one.
func heard(t *testing.T, name string, answer []byte) {
	t.Helper()
	type one struct{ Event, Outcome, HookStatus, Error string }
	list := []one{{}}
	var err error
	if name == "sqs" {
		err = json.Unmarshal(answer, &list)
		assert.Len(t, list, 2)
	} else {
		err = json.Unmarshal(answer, &list[0])
	}
	require.NoError(t, err, "%s: %s", name, answer)
	for _, a := range list {
		if name == "ecs-hook" {
			assert.Equal(t, one{HookStatus: "SUCCEEDED"}, a, name)
			continue
		}
		assert.Empty(t, a.Error, name)
		assert.NotEmpty(t, a.Event, name)
		assert.Equal(t, name == "notification-test", a.Outcome == "ignored", "%s: %s", name, a.Outcome)
		assert.Contains(t, []string{"ignored", "known", "taken"}, a.Outcome, name)
	}
}

// AWS tells things more than once and in any order. Whatever it is, the same nodes
// are paused in the end, and AWS is answered once.
func TestTheBinaryHearsEveryRecordedEventInAnyOrder(t *testing.T) {
	events := recorded(t)
	var once []string
	for name := range events {
		once = append(once, name)
	}
	slices.Sort(once)
	backwards := slices.Clone(once)
	slices.Reverse(backwards)
	orders := map[string][]string{"by name": slices.Concat(once, once), "backwards": slices.Concat(backwards, backwards)}
	for seed := range uint64(3) {
		order := slices.Concat(once, once)
		rand.New(rand.NewPCG(seed, seed)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		orders[fmt.Sprintf("shuffled by %d", seed)] = order
	}
	for name, order := range orders {
		t.Run(name, func(t *testing.T) { hearAll(t, newShipped(t), events, order) })
	}
}

func hearAll(t *testing.T, s *shipped, events map[string][]byte, order []string) {
	terminated, launched := s.aws.AutoScaling.Wait("web", "drain", "i-0aaaaaaaaaaaaaaa1"), s.aws.AutoScaling.Wait("web", "ready", "i-0aaaaaaaaaaaaaaa2")
	hook := s.aws.CodeDeploy.Wait("d-ABCDEF123", "eyJlbmNyeXB0ZWREYXRhIjoiMDEyMyJ9")
	seen := make(map[string]bool)
	for _, name := range order {
		before := s.pauses(t)
		heard(t, name, s.invoke(t, events[name]))
		if seen[name] {
			assert.Equal(t, before, s.pauses(t), "%s for the second time", name)
		}
		seen[name] = true
	}
	assert.Zero(t, s.calls.Load(), "AWS is answered by sweeps alone")

	s.quiet(t)
	for range 2 {
		assert.Contains(t, string(s.invoke(t, []byte(`{"command":"tick"}`))), `"errors":0`)
	}
	for _, answered := range []<-chan string{terminated, launched} {
		require.Len(t, answered, 1)
		assert.Equal(t, "CONTINUE", <-answered)
	}
	require.Len(t, hook, 1)
	assert.Equal(t, "Succeeded", <-hook)
	assert.Equal(t, int64(3), s.calls.Load(), "each once")
	modes := make(map[string]string)
	for target, p := range s.pauses(t) {
		modes[target] = string(p.Mode) + " by " + p.By
	}
	assert.Equal(t, map[string]string{
		"node:n1": "drain by aws:terminate", "node:n3": "redirect by aws:spot", "node:n4": "drain by aws:rebalance", "node:n7": "drain by aws:task",
	}, modes)
}

// broken are ways to spoil an event, so that it says nothing.
var broken = map[string]func(event []byte) []byte{
	"cut off":     func(event []byte) []byte { return event[:len(event)/2] },
	"in a list":   func(event []byte) []byte { return slices.Concat([]byte("["), event, []byte("]")) },
	"all empty":   func(event []byte) []byte { return spoil(event, func(string) any { return "" }) },
	"all numbers": func(event []byte) []byte { return spoil(event, func(string) any { return 7 }) },
	"all lists":   func(event []byte) []byte { return spoil(event, func(text string) any { return []string{text} }) },
	"zero bytes":  func(event []byte) []byte { return spoil(event, func(text string) any { return text + "\x00" }) },
	"too long": func(event []byte) []byte {
		return spoil(event, func(text string) any { return text + strings.Repeat("x", 2100) })
	},
}

// spoil puts something else in place of each text but the detail-type.
func spoil(event []byte, change func(string) any) []byte {
	var v any
	if err := json.Unmarshal(event, &v); err != nil {
		panic(fmt.Sprintf("a recorded event is no JSON: %v", err))
	}
	body, err := json.Marshal(spoilValue("", v, change))
	if err != nil {
		panic(fmt.Sprintf("a spoiled event cannot be encoded: %v", err))
	}
	return body
}

func spoilValue(name string, v any, change func(string) any) any {
	switch v := v.(type) {
	case string:
		if name != "detail-type" {
			return change(v)
		}
	case []any:
		for i := range v {
			v[i] = spoilValue(name, v[i], change)
		}
	case map[string]any:
		for k := range v {
			v[k] = spoilValue(k, v[k], change)
		}
	}
	return v
}

func TestTheBinaryDoesNothingForABrokenEvent(t *testing.T) {
	s := newShipped(t)
	before := s.server.Dump()
	for name, event := range recorded(t) {
		for how, spoiled := range broken {
			var answer struct {
				Error string
				Code  int
			}
			body := s.invoke(t, spoiled(bytes.Clone(event)))
			require.NoError(t, json.Unmarshal(body, &answer), "%s, %s: %s", name, how, body)
			assert.NotEmpty(t, answer.Error, "%s, %s: %s", name, how, body)
			assert.Equal(t, usageCode, answer.Code, "%s, %s", name, how)
		}
	}
	assert.Equal(t, before, s.server.Dump())
	assert.Zero(t, s.calls.Load())
}
