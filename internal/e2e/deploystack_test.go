package e2e

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/buildtest"
	"github.com/detourhq/detour/internal/localalb"
	"github.com/detourhq/detour/internal/localaws"
	"github.com/detourhq/detour/internal/locallambda"
	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/internal/traffic"
	"github.com/detourhq/detour/pkg/cluster"
)

// stack is Detour as it is deployed on AWS, on loopback: both functions, a load
// balancer with two groups of nodes and its API, and a scheduler. Nodes and
// functions reach the registry; who operates reaches AWS's API alone.
type stack struct {
	t         *testing.T
	registry  *cluster.Registry // the nodes' own
	alb       *localalb.LoadBalancer
	aws       localaws.Server
	url       string // of aws
	heartbeat *locallambda.Host
	log       *journal // of the functions
	network   int64    // of the nodes' addresses: no other stack is given their ports
	hosts     int      // addresses given to nodes

	nodes   map[string][]*traffic.Node // by group
	version int                        // that is deployed next

	mu     sync.Mutex // guards the following
	phase  string
	sweeps int
}

// stacks counts the stacks that tests were given.
var stacks atomic.Int64

// groupsOf are the stack's groups; a group's rule, target group and first path
// segment are called like it.
var groupsOf = []string{"blue", "green"}

const (
	function   = "heartbeat" // by which an operator knows it
	redirectTG = "detour"    // the redirect function's target group
	perGroup   = 2
)

// newStack starts everything, and has an operator make the groups known. Where
// rules is false these name no listener rule.
func newStack(t *testing.T, rules bool) *stack {
	t.Helper()
	redis := redistest.Start(t)
	s := &stack{t: t, registry: openRegistry(t, redis.URL), log: &journal{}, network: 100 + stacks.Add(1), nodes: make(map[string][]*traffic.Node), version: 1}
	t.Cleanup(s.tellLog)
	var err error
	s.alb, err = localalb.New(localalb.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.alb.Close() })
	redirect := s.host(binary(t), redis.URL, map[string]string{"DETOUR_FADE_IN": "1s"})
	require.NoError(t, s.alb.AddLambdaGroup(redirectTG, localalb.LambdaGroup{
		Function: redirect, MultiValueHeaders: true, ARN: localaws.TargetGroupARN(redirectTG),
	}))
	for i, g := range groupsOf {
		s.addGroup(g, 10*(i+1))
	}
	require.NoError(t, s.alb.Start(t.Context()))
	s.startAWS(redis.URL)
	for _, g := range groupsOf {
		put := []string{"group", "put", g, "--path", "/" + g, "--source", "asg:" + g, "--target-group", localaws.TargetGroupARN(g)}
		if rules {
			put = append(put, "--rule", localaws.RuleARN(g))
		}
		s.operate(nil, put...)
		for range perGroup {
			s.healthy(s.launch(g))
		}
	}
	return s
}

// addGroup makes a target group, and the rule that forwards to it alone.
func (s *stack) addGroup(name string, priority int) {
	health := localalb.HealthCheck{Path: traffic.HealthPath, Interval: 100 * time.Millisecond, HealthyThreshold: 2, UnhealthyThreshold: 2}
	require.NoError(s.t, s.alb.AddHTTPGroup(name, localalb.HTTPGroup{Health: health}))
	require.NoError(s.t, s.alb.SetRule(localalb.Rule{
		Name: name, Priority: priority,
		Conditions: []localalb.Condition{localalb.PathPattern("/" + name + "/*")},
		Action:     resting(name),
	}))
}

// resting is what the rule of a group rests on.
func resting(group string) localalb.Forward { return localalb.Forward{group: 1} }

// startAWS starts AWS's API with the heartbeat function behind it, and its
// schedule.
func (s *stack) startAWS(redis string) {
	s.aws.ELB, s.aws.AutoScaling = localaws.InFrontOf(s.alb), &localaws.AutoScaling{}
	server := httptest.NewUnstartedServer(&s.aws)
	s.url = "http://" + server.Listener.Addr().String()
	env := credentials(s.url)
	env["DETOUR_TARGET_GROUP"] = localaws.TargetGroupARN(redirectTG)
	s.heartbeat = s.host(buildtest.Program(s.t, "./functions/heartbeat"), redis, env)
	s.aws.Functions = map[string]localaws.Function{function: s.heartbeat}
	server.Start()
	s.t.Cleanup(server.Close)

	ctx, stop := context.WithCancel(context.Background())
	var scheduler sync.WaitGroup
	scheduler.Go(func() { s.schedule(ctx) })
	s.t.Cleanup(func() {
		stop()
		scheduler.Wait()
	})
}

// host runs a function. One tick has time for one sweep.
func (s *stack) host(program, redis string, more map[string]string) *locallambda.Host {
	env := map[string]string{"DETOUR_CLUSTER": clusterName, "DETOUR_REDIS_URL": redis, "DETOUR_REDIS_TIMEOUT": "2s", "DETOUR_PULSE_EVERY": "1s"}
	for name, value := range more {
		env[name] = value
	}
	h, err := locallambda.New(locallambda.Config{Binary: program, Env: env, Copies: 3, WaitForCopy: true, Timeout: 12 * time.Second, Log: s.log})
	require.NoError(s.t, err)
	s.t.Cleanup(h.Close)
	return h
}

// sweepEvery is what the schedule is hurried to; on AWS ticks come each minute.
const sweepEvery = 250 * time.Millisecond

// schedule hands in ticks, as EventBridge Scheduler does, until ctx ends. A tick
// that meets a command at work is no reason for an alarm.
func (s *stack) schedule(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case due := <-ticker.C:
			answer, err := s.heartbeat.Invoke(ctx, fmt.Appendf(nil, `{"command":"tick","time":%q}`, due.UTC().Format(time.RFC3339)))
			if ctx.Err() != nil {
				return
			}
			if err != nil || !strings.Contains(string(answer), `"errors":0`) {
				s.t.Errorf("tick: %s %v", answer, err)
			}
			s.mu.Lock()
			s.sweeps++
			s.mu.Unlock()
		}
	}
}

// swept returns once so many sweeps have begun and ended from now on.
func (s *stack) swept(count int) {
	s.t.Helper()
	s.mu.Lock()
	enough := s.sweeps + count + 1 // one is under way
	s.mu.Unlock()
	s.until("sweeps are made", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.sweeps >= enough
	})
}

// tellLog shows the functions' log, without metrics, where the test failed.
func (s *stack) tellLog() {
	if !s.t.Failed() {
		return
	}
	for line := range strings.Lines(s.log.excerpt()) {
		if !strings.HasPrefix(line, "{") {
			s.t.Log(line)
		}
	}
}

// begin begins a phase of the deployment.
func (s *stack) begin(phase string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phase = phase
}

func (s *stack) current() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phase
}

func (s *stack) until(what string, ok func() bool) {
	s.t.Helper()
	require.Eventually(s.t, ok, patience, 10*time.Millisecond, what)
}

// under has clients send while do is done, and returns what became of it.
func (s *stack) under(rate int, do func()) traffic.Result {
	tally := traffic.NewTally(time.Now())
	load := traffic.NewLoad(s.alb.URL(), rate, groupsOf, tally, s.current)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel() // where do ends the test
	stop := make(chan struct{})
	var loading sync.WaitGroup
	loading.Go(func() { load.Run(ctx, stop) })
	do()
	s.begin("at the end")
	close(stop)
	loading.Wait()
	return tally.Final(time.Now())
}
