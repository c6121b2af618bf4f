package awsevents

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

const (
	terminateName = "terminate:i-0aaaaaaaaaaaaaaa1:" + token
	launchToken   = "12345678-4321-4321-8321-210987654321"
	completedLine = "web drain i-0aaaaaaaaaaaaaaa1 CONTINUE"
)

var errUnreachable = errors.New("dial tcp: i/o timeout")

// terminating is a world in which AWS has just told of n1's end.
func terminating(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.register("n1", "blue", "i-0aaaaaaaaaaaaaaa1", "")
	w.aws.active[token] = true
	answer := w.event("terminate")
	require.Equal(t, Answer{Kind: Terminate, Outcome: Taken, Targets: []string{"node:n1"}, Paused: []string{"node:n1"}}, answer)
	return w
}

func TestATerminatingNodeIsPausedAtOnce(t *testing.T) {
	w := terminating(t)
	s := w.snapshot()
	p := s.Pauses[cluster.NodeTarget("n1")]
	assert.Equal(t, cluster.Pause{
		Mode: cluster.Drain, By: "aws:terminate", Reason: "instance i-0aaaaaaaaaaaaaaa1 of asg:web terminates",
		Since: s.Time, Deadline: s.Time.Add(2 * time.Minute), Until: s.Time.Add(17 * time.Minute), Epoch: p.Epoch,
	}, p)
	assert.Zero(t, w.aws.calls, "AWS is not called by the event")
}

func TestALifecycleActionIsCompletedAfterTheDrain(t *testing.T) {
	for _, c := range []struct {
		name      string
		then      func(w *world)
		completed bool
	}{
		{"a node without figures is not drained", func(*world) {}, false},
		{"nor is one that has not seen the pause", func(w *world) { w.pulse("n1", &cluster.Figures{SeenEpoch: 5}) }, false},
		{"nor one with requests in flight", func(w *world) { w.quiet("n1", 1, 0) }, false},
		{"nor one with sessions", func(w *world) { w.quiet("n1", 0, 1) }, false},
		{"nor one where somebody has just arrived", func(w *world) { w.idle("n1", 2*time.Second, 2*time.Second-time.Millisecond) }, false},
		{"nor one to which somebody may be on the way", func(w *world) { w.idle("n1", 2*time.Second-time.Millisecond, time.Hour) }, false},
		{"one with neither is", func(w *world) { w.idle("n1", 2*time.Second, 2*time.Second) }, true},
		{"one that left is", func(w *world) { w.leave("n1") }, true},
		{"one not heard for its tolerance is waited for", func(w *world) { w.silence("n1"); w.pass(15 * time.Second) }, false},
		{"one not heard for longer is not", func(w *world) { w.silence("n1"); w.pass(15*time.Second + time.Millisecond) }, true},
		{"before the deadline it is waited for", func(w *world) { w.pass(2*time.Minute - time.Millisecond) }, false},
		{"at the deadline it is not", func(w *world) { w.pass(2 * time.Minute) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := terminating(t)
			w.sweep()
			c.then(w)
			r := w.sweep()
			if !c.completed {
				assert.Empty(t, w.aws.completed)
				assert.Empty(t, r.Completed)
				return
			}
			assert.Equal(t, []string{terminateName}, r.Completed)
			w.handle(load(t, "notification")) // the same action, by another way
			w.handle(load(t, "terminate"))
			for range 3 {
				w.pass(time.Minute)
				w.sweep()
			}
			assert.Equal(t, []string{completedLine}, w.aws.completed, "and never twice")
		})
	}
}

func TestAnActionUnderWayIsLengthened(t *testing.T) {
	w := terminating(t)
	w.sweep()
	assert.Empty(t, w.aws.beats, "a new one need not be")
	for range 6 {
		w.pass(10 * time.Second)
		w.quiet("n1", 1, 0)
		w.sweep()
	}
	assert.Len(t, w.aws.beats, 3, "every 15 s at a sweep every 10")
	w.aws.faults = []error{inactiveAction("i"), errUnreachable}
	w.pass(20 * time.Second)
	w.sweep()
	w.pass(20 * time.Second)
	assert.Equal(t, 1, w.sweep().Unreachable)
	w.pass(time.Minute)
	w.sweep()
	assert.Equal(t, []string{completedLine}, w.aws.completed, "a heartbeat that fails costs nothing")
}

func TestWhatAWSAnswersToACompletion(t *testing.T) {
	denied := &smithy.GenericAPIError{Code: "AccessDenied", Message: "no", Fault: smithy.FaultClient}
	throttled := &smithy.GenericAPIError{Code: "Throttling", Message: "Rate exceeded", Fault: smithy.FaultClient}
	broken := &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: 500}}, Err: &smithy.GenericAPIError{Code: "InternalFailure"},
	}
	inactive := inactiveAction("i-0aaaaaaaaaaaaaaa1")
	for _, c := range []struct {
		name     string
		faults   []error
		gone     bool
		sweeps   int
		answered string
	}{
		{"yes", nil, false, 1, proceed},
		{"not yet, twice (PrairieLearn/PrairieLearn#15586)", []error{inactive, inactive}, false, 3, proceed},
		{"no such action, the node is gone (spacelift-io/terraform-aws-spacelift-workerpool-on-ec2#197)", []error{inactive}, true, 1, noAction},
		{"no such action, ever", []error{inactive, inactive, inactive, inactive, inactive}, false, 5, gaveUp},
		{"denied, once", []error{denied}, false, 2, proceed},
		{"denied, always", []error{denied, denied, denied, denied, denied}, false, 5, gaveUp},
		{"nothing, any number of times", []error{errUnreachable, errUnreachable, errUnreachable, errUnreachable, errUnreachable, errUnreachable}, false, 7, proceed},
		{"too busy", []error{throttled, broken}, false, 3, proceed},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := terminating(t)
			w.quiet("n1", 0, 0)
			if c.gone {
				w.leave("n1")
			}
			w.aws.faults = c.faults
			unheard := 0
			for range c.sweeps {
				assert.Empty(t, w.work()[terminateName].Answered)
				unheard += w.sweep().Unreachable
			}
			failed := slices.DeleteFunc(slices.Clone(c.faults), func(err error) bool { return hear(err) < refusal })
			assert.Equal(t, len(failed), unheard, "each raises the alarm, but that there is no such action")
			assert.Equal(t, c.answered, w.work()[terminateName].Answered)
			for range 3 {
				w.sweep()
			}
			assert.Equal(t, c.sweeps, w.aws.calls, "there are no more calls")
		})
	}
}

func TestAnUnknownInstanceIsAnsweredOnlyForAGroupsSource(t *testing.T) {
	w := newWorld(t)
	w.aws.active[token] = true
	assert.Equal(t, Answer{Kind: Terminate, Outcome: Kept}, w.event("terminate"))
	w.sweep()
	assert.Zero(t, w.aws.calls, "it is another's Auto Scaling group")
	w.sources("blue", "asg:web")
	w.sweep()
	assert.Equal(t, []string{completedLine}, w.aws.completed)
	w.pass(time.Hour)
	w.event("terminate")
	w.handle(load(t, "notification"))
	w.sweep()
	assert.Equal(t, 1, w.aws.calls)
	w.pass(overFor)
	w.sweep()
	assert.Empty(t, w.work(), "it is forgotten")
}

func TestTheEndOfANodeLeavesNothingBehind(t *testing.T) {
	w := terminating(t)
	w.quiet("n1", 0, 0)
	w.sweep()
	assert.Equal(t, map[string]string{"node:n1": "drain by aws:terminate"}, w.paused(), "it stays away until it is gone")
	w.leave("n1")
	assert.Equal(t, []string{"node:n1"}, w.sweep().Resumed)
	assert.Empty(t, w.paused())
	assert.Equal(t, 0, w.sweep().Pending)
	w.pass(overFor)
	w.sweep()
	assert.Empty(t, w.work())
}

func TestALaunchIsCompletedOnceTheNodeIsWell(t *testing.T) {
	w := newWorld(t)
	w.aws.active[launchToken] = true
	w.register("n2", "blue", "i-0aaaaaaaaaaaaaaa2", "")
	w.event("spot")
	require.Contains(t, w.paused(), "node:n2")
	w.silence("n2")
	w.pass(time.Minute)
	w.event("launch")
	w.sweep()
	assert.Empty(t, w.aws.completed)
	assert.Contains(t, w.paused(), "node:n2")

	_, _, err := w.registry.Register(t.Context(), cluster.Descriptor{
		ID: "n2", Group: "blue", Endpoint: "https://n2.example.com", Target: "i-0aaaaaaaaaaaaaaa2",
	}, cluster.Report{Status: cluster.Starting})
	require.NoError(t, err)
	w.sweep()
	assert.Empty(t, w.aws.completed, "a node that starts is not well")
	w.register("n2", "blue", "i-0aaaaaaaaaaaaaaa2", "")
	w.sweep()
	assert.Equal(t, []string{"web ready i-0aaaaaaaaaaaaaaa2 CONTINUE"}, w.aws.completed)
	assert.Empty(t, w.paused(), "what was before the launch is over")
	w.handle(Event{Kind: Spot, Instance: "i-0aaaaaaaaaaaaaaa2", Time: at("12:01:30"), State: "stop"})
	w.sweep()
	assert.Empty(t, w.paused(), "though it is told later")
	w.handle(Event{Kind: Spot, Instance: "i-0aaaaaaaaaaaaaaa2", Time: at("12:09:00"), State: "stop"})
	assert.Contains(t, w.paused(), "node:n2", "what is after it is not")
}

func TestALaunchThatNeverPulsesIsLeftToItsHook(t *testing.T) {
	w := newWorld(t)
	w.event("launch")
	w.pass(launchMost)
	w.sweep()
	w.pass(unknownFor)
	w.sweep()
	assert.Zero(t, w.aws.calls)
	assert.Empty(t, w.work())
}

func TestACallThatIsUnderWayIsNotMadeTwice(t *testing.T) {
	w := terminating(t)
	w.quiet("n1", 0, 0)
	w.handler.aws.AutoScaling = during{w.aws, func() { assert.Empty(t, w.sweep().Completed) }}
	late, err := w.registry.AcquireLease(t.Context(), "sweep", time.Minute)
	require.NoError(t, err)
	r, err := w.handler.Advance(t.Context(), w.snapshot(), late)
	require.NoError(t, err)
	assert.Equal(t, []string{terminateName}, r.Completed)
	assert.Equal(t, 1, w.aws.calls)
}

func TestALateSweeperMakesNoCall(t *testing.T) {
	w := terminating(t)
	w.quiet("n1", 0, 0)
	late, err := w.registry.AcquireLease(t.Context(), "late", time.Minute)
	require.NoError(t, err)
	require.NoError(t, w.registry.ReleaseLease(t.Context(), late))
	_, err = w.registry.AcquireLease(t.Context(), "next", time.Minute)
	require.NoError(t, err)
	_, err = w.handler.Advance(t.Context(), w.snapshot(), late)
	require.ErrorIs(t, err, cluster.ErrFenced)
	assert.Zero(t, w.aws.calls)
}

func TestACallThatDiedIsMadeAgain(t *testing.T) {
	w := terminating(t)
	w.quiet("n1", 0, 0)
	ctx, cancel := context.WithCancel(t.Context())
	l, err := w.registry.AcquireLease(ctx, "sweep", time.Minute)
	require.NoError(t, err)
	w.handler.aws.AutoScaling = during{w.aws, cancel} // the function ends here
	_, err = w.handler.Advance(ctx, w.snapshot(), l)
	require.Error(t, err)
	w.handler.aws.AutoScaling = w.aws
	assert.Empty(t, w.sweep().Completed, "it may still be under way")
	w.pass(claimFor)
	w.sweep()
	assert.Equal(t, []string{completedLine}, w.aws.completed)
}
