package rules

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/pkg/cluster"
)

// newLargeWorld has the one rule as blue's rule for large bodies, led to green's
// target group while blue is paused.
func newLargeWorld(t *testing.T, actions ...types.Action) *world {
	w := newWorld(t, actions...)
	w.snapshot.Groups["blue"] = cluster.Group{ID: "blue", TargetGroup: blue, LargeBodyRule: front, LargeBodyTargetGroup: green}
	w.group("green", green)
	return w
}

func TestLargeBodiesAreLedToTheOtherGroup(t *testing.T) {
	resting := forwardTo(3600, blue, 1)
	w := newLargeWorld(t, action(resting))
	w.pause("blue", cluster.Redirect)
	assert.Equal(t, Moved, w.state(Options{}).State)
	moved := forwardTo(0, blue, 0, green, 1)
	w.is(moved, claim("blue", "0000000000000001=1 sticky=3600"))

	w.pause("green", cluster.Redirect)
	assert.Equal(t, Moved, w.state(Options{}).State, "what is moved stays, whoever is paused later")
	w.is(moved, w.aws.Tags[front])
	w.resume("green")
	w.resume("blue")
	assert.Equal(t, Resting, w.state(Options{}).State)
	w.is(resting, nil)
}

func TestLargeBodiesAreNotLedToNobody(t *testing.T) {
	unwell := func(w *world) {
		w.aws.Health[green] = []types.TargetHealthStateEnum{types.TargetHealthStateEnumUnhealthy}
	}
	for _, row := range []struct {
		name    string
		prepare func(w *world)
		options Options
		want    State
	}{
		{"one of two targets is healthy", func(w *world) {
			w.aws.Health[green] = []types.TargetHealthStateEnum{types.TargetHealthStateEnumHealthy, types.TargetHealthStateEnumUnhealthy}
		}, Options{}, Moved},
		{"no node of the registry is offered, which the load balancer does not ask", func(w *world) { w.snapshot.Nodes = nil }, Options{}, Moved},
		{"no target is healthy", unwell, Options{}, Refused},
		{"that is forced", unwell, Options{Force: true}, Moved},
		{"there is no target", func(w *world) { w.aws.Health[green] = []types.TargetHealthStateEnum{} }, Options{}, Refused},
		{"the other group is paused too", func(w *world) { w.pause("green", cluster.Hold) }, Options{}, Refused},
		{"its pause has ended", func(w *world) {
			w.snapshot.Pauses[cluster.GroupTarget("green")] = cluster.Pause{Mode: cluster.Hold, Until: start}
		}, Options{}, Moved},
		{"nobody may ask for health", refuse("DescribeTargetHealth", "AccessDenied"), Options{}, Denied},
		{"the pause is a drain", func(w *world) { w.pause("blue", cluster.Drain) }, Options{}, Resting},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newLargeWorld(t, scalar(blue))
			w.pause("blue", cluster.Redirect)
			row.prepare(w)
			assert.Equal(t, row.want, w.state(row.options).State)
			assert.Equal(t, row.want == Moved, len(w.aws.Writes) > 0)
		})
	}
}

// A rule that somebody left with large bodies led to the other group has a trace
// of ours, though that is no target group of the redirect function.
func TestARuleLeftWithLargeBodiesLedAwayIsNotAdoptedByItself(t *testing.T) {
	w := newLargeWorld(t, scalar(blue))
	w.pause("blue", cluster.Redirect)
	w.pass(Options{})
	w.becomes(forwardTo(0, blue, 1, green, 1))
	w.resume("blue")
	assert.Equal(t, Foreign, w.state(Options{}).State)
	assert.Equal(t, Resting, w.state(Options{Adopt: true}).State)
}
