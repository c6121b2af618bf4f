package awsevents

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// everything are all the files with one event.
var everything = []string{
	"terminate", "launch", "spot", "spot-hibernate", "rebalance", "state-stopping", "state-running", "task-running", "task-stopped",
	"ecs-deployment-started", "ecs-deployment-completed", "codedeploy-start", "codedeploy-success", "codedeploy-instance-start",
	"codedeploy-instance-failure", "codedeploy-hook", "notification", "notification-test",
}

// scene is where events come in and sweeps are made.
type scene struct {
	handler *Handler
	aws     *fakeAWS
	pass    func(time.Duration)
}

func newScene(w *world) *scene { return &scene{w.handler, w.aws, w.pass} }

func (s *scene) sweep(t *testing.T) {
	t.Helper()
	snap, err := s.handler.registry.Snapshot(t.Context(), s.handler.wall)
	require.NoError(t, err)
	_, err = s.handler.Advance(t.Context(), snap, cluster.Lease{})
	require.NoError(t, err)
}

// ending is all that may not depend on the order of events: everything but epochs.
type ending struct {
	pauses    map[cluster.Target]cluster.Pause
	work      map[string]work
	completed []string
	hook      string
}

func (s *scene) ending(t *testing.T) ending {
	t.Helper()
	end := ending{make(map[cluster.Target]cluster.Pause), make(map[string]work), slices.Clone(s.aws.completed), s.aws.statuses[execution]}
	snap, err := s.handler.registry.Snapshot(t.Context(), s.handler.wall)
	require.NoError(t, err)
	for target, p := range snap.Pauses {
		p.Epoch = 0
		end.pauses[target] = p
	}
	bodies, err := s.handler.registry.Work(t.Context())
	require.NoError(t, err)
	for name, body := range bodies {
		w, err := decodeWork(body)
		require.NoError(t, err)
		w.Paused = min(w.Paused, 1)
		end.work[name] = w
	}
	return end
}

// run hands events in, sweeps after some of them, and lets the rest happen. It
// returns how things stand then, and half an hour later.
func run(t *testing.T, s *scene, events []Event, sweeps func() bool) (then, later ending) {
	t.Helper()
	s.aws.active[token], s.aws.active[launchToken] = true, true
	for _, e := range events {
		_, err := s.handler.Handle(t.Context(), e)
		require.NoError(t, err)
		if sweeps() {
			s.sweep(t)
		}
	}
	s.sweep(t)
	s.sweep(t)
	then = s.ending(t)
	for range 3 {
		s.pass(10 * time.Minute)
		s.sweep(t)
	}
	return then, s.ending(t)
}

// Events come at least once and in any order; sweeps fall between them.
func TestTheOrderOfEventsDoesNotMatter(t *testing.T) {
	events := make([]Event, 0, len(everything))
	for _, name := range everything {
		events = append(events, load(t, name))
	}
	w := fleet(t)
	start := inMemory(w)
	never := func() bool { return false }
	then, later := run(t, newScene(w), events, never)
	assert.Len(t, then.pauses, 5)
	assert.Len(t, then.completed, 1, "the launch")
	assert.Equal(t, "Succeeded", then.hook)
	assert.Empty(t, later.pauses)
	assert.Len(t, later.completed, 2, "and the end of a node without figures")
	inThen, inLater := run(t, start, events, never)
	assert.Equal(t, then, inThen, "in memory it is the same")
	assert.Equal(t, later, inLater)

	w = fleet(t)
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 1))
		shuffled := slices.Concat(events, events[:random.IntN(len(events))])
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		gotThen, gotLater := run(t, inMemory(w), shuffled, func() bool { return random.IntN(4) == 0 })
		require.Equal(t, then, gotThen, fmt.Sprint("seed ", seed))
		require.Equal(t, later, gotLater, fmt.Sprint("seed ", seed))
	}
}
