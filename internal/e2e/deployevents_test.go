package e2e

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/localalb"
	"github.com/detourhq/detour/internal/localaws"
	"github.com/detourhq/detour/internal/traffic"
)

// tell hands an event of an Auto Scaling group to the heartbeat function: the
// recorded one called name, about this instance, twice, as EventBridge may.
func (s *stack) tell(name, group, instance string) {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "internal", "awsevents", "testdata", name+".json"))
	require.NoError(s.t, err)
	var event map[string]any
	require.NoError(s.t, json.Unmarshal(raw, &event))
	detail, ok := event["detail"].(map[string]any)
	require.True(s.t, ok)
	event["id"], event["time"] = rand.Text(), time.Now().UTC().Format(time.RFC3339)
	detail["AutoScalingGroupName"], detail["EC2InstanceId"], detail["LifecycleActionToken"] = group, instance, rand.Text()
	payload, err := json.Marshal(event)
	require.NoError(s.t, err)
	for _, outcome := range []string{"", "known"} {
		ctx, cancel := context.WithTimeout(s.t.Context(), patience)
		body, err := s.heartbeat.Invoke(ctx, payload)
		cancel()
		require.NoError(s.t, err)
		var answer struct{ Event, Outcome, Error string }
		require.NoError(s.t, json.Unmarshal(body, &answer), "%s", body)
		require.Empty(s.t, answer.Error)
		require.Equal(s.t, name, answer.Event)
		if outcome != "" {
			require.Equal(s.t, outcome, answer.Outcome)
		}
	}
}

// hooks are the names of the lifecycle hooks in the recorded events.
const (
	launchHook    = "ready"
	terminateHook = "drain"
)

// launch adds an instance to a group, as its Auto Scaling group does: the target is
// registered once the hook's action is completed, for which the node has to be up.
func (s *stack) launch(group string) *traffic.Node {
	s.t.Helper()
	s.hosts++
	id := fmt.Sprintf("%s-%d", group, s.hosts)
	n := &traffic.Node{ID: id, Group: group, Target: "i-" + id, Address: fmt.Sprintf("127.0.%d.%d:0", s.network, s.hosts)}
	completed := s.aws.AutoScaling.Wait(group, launchHook, n.Target)
	s.tell("launch", group, n.Target)
	assert.Empty(s.t, completed, "nothing is up yet")
	require.NoError(s.t, n.Start(s.t.Context(), s.version))
	s.t.Cleanup(func() {
		_ = n.Leave(context.Background()) // the registry may be gone by then
		n.Stop()
	})
	require.NoError(s.t, n.Join(s.t.Context(), s.registry))
	s.awaitContinue(completed)
	require.NoError(s.t, s.alb.Register(group, n.Address))
	s.nodes[group] = append(s.nodes[group], n)
	return n
}

func (s *stack) awaitContinue(completed <-chan string) {
	s.t.Helper()
	select {
	case result := <-completed:
		require.Equal(s.t, "CONTINUE", result)
	case <-time.After(patience):
		require.Fail(s.t, "the lifecycle action was not completed")
	}
}

// longEnough is a time after which an instance is given up that nobody is on the way
// to or has anything to do at.
const longEnough = 3 * time.Second

// takeAway begins to take an instance away, as its Auto Scaling group does: the
// target is deregistered and drains, then the hook fires. The channel gets the
// result of its action.
func (s *stack) takeAway(n *traffic.Node) <-chan string {
	s.t.Helper()
	s.begin("terminating " + n.ID)
	require.NoError(s.t, s.alb.Deregister(n.Group, n.Address))
	completed := s.aws.AutoScaling.Wait(n.Group, terminateHook, n.Target)
	s.tell("terminate", n.Group, n.Target)
	return completed
}

// end ends an instance once its action is completed.
func (s *stack) end(n *traffic.Node, completed <-chan string) {
	s.t.Helper()
	s.awaitContinue(completed)
	assert.Zero(s.t, n.InFlight(), n.ID)
	require.NoError(s.t, n.Leave(s.t.Context()))
	n.Stop()
	s.nodes[n.Group] = slices.DeleteFunc(s.nodes[n.Group], func(o *traffic.Node) bool { return o == n })
}

// healthy waits until the load balancer sends to the nodes.
func (s *stack) healthy(nodes ...*traffic.Node) {
	s.t.Helper()
	for _, n := range nodes {
		s.until(n.ID+" is healthy", func() bool {
			targets, err := s.alb.Health(n.Group)
			require.NoError(s.t, err)
			for _, target := range targets {
				if target.Target == n.Address {
					return target.State == localalb.StateHealthy
				}
			}
			return false
		})
	}
}

// forward is what the rule of a group does at the load balancer itself.
func (s *stack) forward(group string) localalb.Forward {
	for _, r := range s.alb.Rules() {
		if f, ok := r.Action.(localalb.Forward); ok && r.Name == group {
			return f
		}
	}
	return nil
}

// atRest tells whether every rule forwards as it rested before, and bears no tag.
func (s *stack) atRest() bool {
	return !slices.ContainsFunc(groupsOf, func(g string) bool {
		return !maps.Equal(resting(g), s.forward(g)) || len(s.aws.ELB.TagsOf(localaws.RuleARN(g))) > 0
	})
}

// upload begins a POST to a node itself, whose body does not end until the function
// returned is called.
func (s *stack) upload(n *traffic.Node) (finish func()) {
	s.t.Helper()
	body, more := io.Pipe()
	s.t.Cleanup(func() { _ = more.Close() })
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, n.URL()+"/"+n.Group, body)
	require.NoError(s.t, err)
	ended := make(chan int, 1)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			ended <- 0
			return
		}
		_ = resp.Body.Close() // the status tells
		ended <- resp.StatusCode
	}()
	_, err = io.WriteString(more, "half") // once it is read the request is under way
	require.NoError(s.t, err)
	s.until("the upload arrives", func() bool { return n.InFlight() > 0 })
	return func() {
		s.t.Helper()
		require.NoError(s.t, more.Close())
		assert.Equal(s.t, http.StatusOK, <-ended, "what is under way is served to its end")
	}
}
