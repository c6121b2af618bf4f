package e2e

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	commands "github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/internal/localaws"
	"github.com/detourhq/detour/internal/rules"
)

// Blue is deployed as a whole by an operator who has nothing but the heartbeat
// function's name; green instance by instance, by what AWS says of them alone. The
// heartbeat function does all the rest.
func TestADeploymentByCommandsAndEventsLosesNothing(t *testing.T) {
	t.Parallel() // it mostly waits
	s := newStack(t, true)
	r := s.under(100, func() {
		s.version++
		paused := s.pause("blue")
		s.moved("blue", paused)
		s.drained("blue", paused.Epoch)
		s.replaceAll("blue", func() { // the rule waits for nodes that are not there yet
			resumed := s.resume("blue")
			require.Len(t, resumed.Rules, 1)
			assert.Equal(t, rules.Pending, resumed.Rules[0].State)
			s.swept(1)
		})
		s.until("the rule is back", s.atRest)

		for _, n := range slices.Clone(s.nodes["green"]) {
			finish := s.upload(n)
			completed := s.takeAway(n)
			s.until("the node obeys", n.Paused)
			s.swept(int(longEnough / sweepEvery))
			assert.Empty(t, completed, "a request is still in flight")
			finish()
			s.end(n, completed)
			s.healthy(s.launch("green"))
		}
		s.swept(1)
	})
	assert.Empty(t, r.Failures)
	assert.Zero(t, r.Failed)
	assert.Greater(t, r.OK, 100)
	assert.Positive(t, r.Redirected, "while blue was paused")
	assert.Less(t, r.Redirected, r.OK)

	assert.True(t, s.atRest())
	assert.Empty(t, s.status().Pauses)
	for _, g := range groupsOf {
		require.Len(t, s.nodes[g], perGroup)
		for _, n := range s.nodes[g] {
			assert.Equal(t, 2, n.Version(), n.ID)
		}
	}
	var answers []string
	for _, a := range s.aws.AutoScaling.Answers() {
		answers = append(answers, a.Of)
	}
	assert.Equal(t, []string{
		"blue/ready/i-blue-1", "blue/ready/i-blue-2", "green/ready/i-green-3", "green/ready/i-green-4",
		"green/drain/i-green-3", "green/ready/i-green-5", "green/drain/i-green-4", "green/ready/i-green-6",
	}, answers)
	assert.Zero(t, s.aws.AutoScaling.Refused(), "each action is completed once")
}

// AWS takes an instance that stands in for a paused group: it is where redirects
// lead until then.
func TestAnInstanceThatStandsInIsTakenWithoutALoss(t *testing.T) {
	t.Parallel() // it mostly waits
	s := newStack(t, true)
	r := s.under(200, func() {
		paused := s.pause("blue")
		s.moved("blue", paused)
		s.drained("blue", paused.Epoch)
		n := s.nodes["green"][0]
		s.end(n, s.takeAway(n))
		s.healthy(s.launch("green"))
		s.resume("blue")
		s.until("the rule is back", s.atRest)
	})
	assert.Empty(t, r.Failures)
	assert.Positive(t, r.Redirected)
}

// moved waits until the rule of a paused group is moved, which was done at once,
// unless a sweep was at it at that moment.
func (s *stack) moved(group string, paused commands.Paused) {
	s.t.Helper()
	require.Len(s.t, paused.Rules, 1)
	require.Equal(s.t, localaws.RuleARN(group), paused.Rules[0].ARN)
	require.Contains(s.t, []rules.State{rules.Moved, rules.Pending}, paused.Rules[0].State, paused.Rules[0].Why)
	s.until("the rule is moved", func() bool {
		return s.forward(group)[group] == 0 && s.forward(group)[redirectTG] == 1
	})
}

// replaceAll ends the current life of all nodes of a group, and starts the next.
func (s *stack) replaceAll(group string, between ...func()) {
	s.t.Helper()
	s.begin("deploying " + group)
	for _, n := range s.nodes[group] {
		require.NoError(s.t, n.Leave(s.t.Context()))
		n.Stop()
	}
	for _, do := range between {
		do()
	}
	for _, n := range s.nodes[group] {
		require.NoError(s.t, n.Start(s.t.Context(), s.version))
		require.NoError(s.t, n.Join(s.t.Context(), s.registry))
	}
}

// The checker finds a rule that is not switched, and one that comes back too early.
func TestADeploymentWhoseRulesAreWrongLosesRequests(t *testing.T) {
	t.Parallel() // it mostly waits
	for name, spoil := range map[string]struct {
		rules   bool
		between func(*stack) // while the nodes are down
	}{
		"the group names no rule": {false, func(s *stack) { s.swept(1) }},
		"the rule is forced back while the nodes are down": {true, func(s *stack) {
			s.resume("blue")
			for s.forward("blue")["blue"] == 0 { // not at the first try where a sweep is at it
				s.operate(nil, "rules", "--force", localaws.RuleARN("blue"))
			}
			s.swept(1)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStack(t, spoil.rules)
			r := s.under(100, func() {
				s.version++
				paused := s.pause("blue")
				if spoil.rules {
					s.moved("blue", paused)
					s.drained("blue", paused.Epoch)
				}
				s.replaceAll("blue", func() { spoil.between(s) })
			})
			assert.Positive(t, r.Failed)
			assert.Positive(t, r.OK)
			for _, failure := range r.Failures {
				// Or the connection was closed behind an early 502, and the next request met that.
				assert.Contains(t, []int{http.StatusBadGateway, 0}, failure.Status, failure)
			}
		})
	}
}
