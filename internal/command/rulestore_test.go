package command

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/rules"
	"github.com/detourhq/detour/pkg/cluster"
)

// A command and a sweep may be at the same rules at the same moment.
func TestOfTwoPassesAtOnceTheFirstOnesMemoryStays(t *testing.T) {
	client, err := cluster.Dial("redis://"+miniredis.RunT(t).Addr(), time.Second)
	require.NoError(t, err)
	registry, err := cluster.NewRegistry(client, "default")
	require.NoError(t, err)
	t.Cleanup(func() { _ = registry.Close() })
	r := &Runner{Registry: registry}
	open := func() *ruleStore {
		s, err := r.ruleStore(t.Context(), nil)
		require.NoError(t, err)
		return s
	}
	settle := func(s *ruleStore, why string) {
		require.NoError(t, s.settle(t.Context(), rules.Report{Memory: rules.Memory{"arn:1": {State: rules.Pending, Why: why}}}))
	}
	first, second := open(), open()
	settle(first, "first")
	settle(second, "second")
	assert.Equal(t, "first", open().memory["arn:1"].Why)
	settle(open(), "third")
	assert.Equal(t, "third", open().memory["arn:1"].Why)
	require.ErrorIs(t, second.save(t.Context(), "arn:1", rules.RuleMemory{}), cluster.ErrConflict, "before a write it has to know")
}

// Else the next one would not know how often it has written.
func TestAPassThatRanOutOfTimeStoresWhatItDid(t *testing.T) {
	w := newWorld(t)
	_, err := w.Registry.Pause(t.Context(), cluster.GroupTarget("blue"), cluster.PauseRequest{Mode: cluster.Hold})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.aws.Before = func(verb, _ string) error {
		err := ctx.Err()
		if verb == "ModifyRule" {
			cancel()
		}
		return err
	}
	_, err = w.Reconcile(ctx, nil, nil, rules.Options{})
	require.ErrorIs(t, err, context.Canceled)
	store, err := w.ruleStore(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, rules.Pending, store.memory[front].State)
	assert.Len(t, store.memory[front].WrittenAt, 1)
}
