package awsevents

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/pkg/cluster"
)

const (
	execution = "eyJlbmNyeXB0ZWREYXRhIjoiMDEyMyJ9"
	hookName  = "codedeploy-hook:" + execution
)

func TestACodeDeployHookIsAnswered(t *testing.T) {
	for _, c := range []struct {
		name  string
		given func(w *world)
		wait  time.Duration
		want  string // empty for not yet
	}{
		{"once a node is well", func(w *world) { w.register("n1", "blue", "", "") }, 0, "Succeeded"},
		{"though it is paused", func(w *world) {
			w.register("n1", "blue", "", "")
			_, err := w.registry.Pause(w.t.Context(), cluster.All, cluster.PauseRequest{Mode: cluster.Redirect})
			assert.NoError(w.t, err)
		}, 0, "Succeeded"},
		{"not while there is none", func(*world) {}, defaultHookFor - time.Millisecond, ""},
		{"with a failure when there was none in time", func(*world) {}, defaultHookFor, "Failed"},
		{"not by a node of another group than the deployment's", func(w *world) {
			w.register("n1", "green", "", "")
			w.sources("blue", "codedeploy:shop/canary")
			w.event("codedeploy-start")
		}, 0, ""},
		{"by one of the deployment's", func(w *world) {
			w.register("n1", "blue", "", "")
			w.sources("blue", "codedeploy:shop/canary")
			w.event("codedeploy-start")
		}, 0, "Succeeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.given(w)
			assert.Equal(t, Answer{Kind: Hook, Outcome: Taken}, w.event("codedeploy-hook"))
			w.pass(c.wait)
			w.sweep()
			assert.Equal(t, c.want, w.aws.statuses[execution])
			if c.want != "" {
				w.event("codedeploy-hook")
				w.sweep()
				assert.Equal(t, 1, w.aws.calls, "once")
			}
		})
	}
}

// aws/serverless-application-model#1963, davidgf/serverless-plugin-canary-deployments#93
func TestAHookThatCannotBeAnsweredIsTriedABoundedNumberOfTimes(t *testing.T) {
	denied := &smithy.GenericAPIError{Code: "AccessDeniedException", Fault: smithy.FaultClient}
	for _, c := range []struct {
		name     string
		fault    error
		calls    int
		answered string
	}{
		{"refused", denied, triesMost, gaveUp},
		{"done already", &types.LifecycleEventAlreadyCompletedException{}, 1, noAction},
		{"of a deployment that is no more", &types.DeploymentDoesNotExistException{}, 1, noAction},
		{"without an answer", errUnreachable, 20, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.register("n1", "blue", "", "")
			w.event("codedeploy-hook")
			for range 20 {
				w.aws.faults = []error{c.fault}
				w.sweep()
			}
			assert.Equal(t, c.calls, w.aws.calls)
			assert.Equal(t, c.answered, w.work()[hookName].Answered)
			w.pass(defaultHookFor + unknownFor + overFor)
			w.aws.faults = []error{c.fault}
			w.sweep()
			assert.Empty(t, w.work(), "it ends")
		})
	}
}

func TestASilentServiceIsAskedOnceASweepAndKeepsNoOtherFromItsAnswer(t *testing.T) {
	w := terminating(t)
	w.quiet("n1", 0, 0)
	w.event("codedeploy-hook")
	w.handle(Event{Kind: Hook, Deployment: "d-2", Execution: "second"})
	w.aws.faults = []error{errUnreachable}
	r := w.sweep()
	assert.Equal(t, 1, r.Unreachable)
	assert.Equal(t, []string{terminateName}, r.Completed)
	assert.Empty(t, w.aws.statuses)
}

func TestAnECSHookIsAnsweredAtOnce(t *testing.T) {
	inProgress := HookAnswer{InProgress, callBackDelay}
	for _, c := range []struct {
		name  string
		stage string
		given func(w *world)
		wait  time.Duration
		want  HookAnswer
	}{
		{"before there can be a node", "PRE_SCALE_UP", func(*world) {}, 0, HookAnswer{Succeeded, 0}},
		{"while the service is reconciled", "RECONCILE_SERVICE", func(*world) {}, 0, HookAnswer{Succeeded, 0}},
		{"while no node is well", "POST_SCALE_UP", func(*world) {}, 0, inProgress},
		{"shortly before its time is over", "POST_SCALE_UP", func(*world) {}, defaultHookFor - time.Millisecond, inProgress},
		{"when its time is over", "POST_SCALE_UP", func(*world) {}, defaultHookFor, HookAnswer{Failed, 0}},
		{"once a node is well", "POST_SCALE_UP", func(w *world) { w.register("n1", "blue", "", "") }, time.Hour, HookAnswer{Succeeded, 0}},
		{"while only another group's is", "POST_SCALE_UP", func(w *world) { w.register("n1", "green", "", "") }, 0, inProgress},
		{"at a stage of tomorrow", "POST_SOMETHING", func(*world) {}, 0, inProgress},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.sources("blue", "ecs:shop/web")
			c.given(w)
			e := load(t, "ecs-hook")
			e.State = c.stage
			w.handle(e)
			w.pass(c.wait)
			assert.Equal(t, c.want, w.handle(e))
			assert.Equal(t, c.want, w.handle(e))
			assert.Zero(t, w.aws.calls)
		})
	}
}

// An error would roll the deployment back.
func TestAnECSHookIsAskedAgainWhileTheRegistryIsLost(t *testing.T) {
	w := newWorld(t)
	w.server.SetError("LOADING")
	assert.Equal(t, HookAnswer{InProgress, callBackDelay}, w.handle(load(t, "ecs-hook")))
}
