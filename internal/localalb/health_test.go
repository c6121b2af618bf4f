package localalb

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTally(t *testing.T) {
	check := HealthCheck{HealthyThreshold: 3, UnhealthyThreshold: 2}
	for _, tc := range []struct {
		name    string
		from    State
		results string // p for a pass, f for a failure
		want    State
	}{
		{"new", StateInitial, "", StateInitial},
		{"new, one pass", StateInitial, "p", StateHealthy},
		{"new, one failure", StateInitial, "f", StateInitial},
		{"new, a failure and a pass", StateInitial, "fp", StateHealthy},
		{"new, two failures", StateInitial, "ff", StateUnhealthy},
		{"healthy, one failure", StateHealthy, "f", StateHealthy},
		{"healthy, two failures", StateHealthy, "ff", StateUnhealthy},
		{"healthy, two failures not in a row", StateHealthy, "fpf", StateHealthy},
		{"unhealthy, two passes", StateUnhealthy, "pp", StateUnhealthy},
		{"unhealthy, three passes", StateUnhealthy, "ppp", StateHealthy},
		{"unhealthy, three passes not in a row", StateUnhealthy, "ppfp", StateUnhealthy},
		{"healthy again, the counts begin anew", StateUnhealthy, "pppf", StateHealthy},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tally{state: tc.from}
			for _, r := range tc.results {
				got.note(map[rune]string{'f': healthMismatch}[r], check)
			}
			assert.Equal(t, tc.want, got.state)
			if got.state == StateHealthy {
				assert.Empty(t, got.reason)
			}
		})
	}
}

// TestHealthLag follows a target by AWS's own times: it fails after 31 s, hangs
// after 130 s, and is well after 181 s. Checks start every 30 s however long
// they take.
func TestHealthLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var log []string
		lb, err := New(Config{OnHealth: func(c HealthChange) {
			log = append(log, time.Since(began).String()+" "+string(c.To)+" "+c.Reason)
		}})
		require.NoError(t, err)
		check, codes, err := HealthCheck{}.withDefaults(HealthCheck{
			Interval: 30 * time.Second, Timeout: 5 * time.Second, HealthyThreshold: 5, UnhealthyThreshold: 2,
		})
		require.NoError(t, err)
		probe := func(ctx context.Context) string {
			switch at := time.Since(began); {
			case at < 31*time.Second || at > 181*time.Second:
				return ""
			case at < 130*time.Second:
				return healthMismatch
			}
			<-ctx.Done()
			return healthTimeout
		}
		var mu sync.Mutex
		var state tally
		mu.Lock()
		stop := checker{HealthCheck: check, lb: lb, group: "g", codes: codes}.start(&mu, &state, "t", probe)
		assert.Equal(t, tally{state: StateInitial, reason: healthRegistering}, state)
		mu.Unlock()

		time.Sleep(160 * time.Second) // bubble time
		synctest.Wait()
		mu.Lock()
		assert.Equal(t, healthTimeout, state.reason, "the reason of an unhealthy target is the latest")
		mu.Unlock()
		time.Sleep(240 * time.Second)
		synctest.Wait()
		assert.Equal(t, []string{"0s healthy ", "1m30s unhealthy " + healthMismatch, "5m30s healthy "}, log)
		mu.Lock()
		stop()
		mu.Unlock()
		require.NoError(t, lb.Close())
	})
}

func TestHealthCheckSettings(t *testing.T) {
	for _, tc := range []struct {
		name string
		hc   HealthCheck
		ok   bool
	}{
		{"the zero value", HealthCheck{}, true},
		{"a list and a range", HealthCheck{Matcher: "200,202,300-499"}, true},
		{"a code below 200", HealthCheck{Matcher: "199"}, false},
		{"a code above 499", HealthCheck{Matcher: "200-500"}, false},
		{"a range turned round", HealthCheck{Matcher: "300-200"}, false},
		{"no number", HealthCheck{Matcher: "2xx"}, false},
		{"a relative path", HealthCheck{Path: "health"}, false},
		{"a negative interval", HealthCheck{Interval: -1}, false},
		{"a negative threshold", HealthCheck{HealthyThreshold: -1}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lb, err := New(Config{})
			require.NoError(t, err)
			assert.Equal(t, tc.ok, lb.AddHTTPGroup("g", HTTPGroup{Health: tc.hc}) == nil)
			assert.Equal(t, tc.ok, lb.AddLambdaGroup("f", LambdaGroup{Health: &tc.hc}) == nil)
		})
	}
	codes, err := parseMatcher("200,300-301")
	require.NoError(t, err)
	for status, want := range map[int]bool{199: false, 200: true, 201: false, 299: false, 300: true, 301: true, 302: false} {
		assert.Equal(t, want, codes.has(status), status)
	}
}

func TestHealthOfFunctions(t *testing.T) {
	check := &HealthCheck{Path: "/_health", Interval: time.Millisecond, UnhealthyThreshold: 1}
	for _, tc := range []struct {
		name   string
		health *HealthCheck
		answer string
		want   TargetHealth
	}{
		{"checks are off", nil, `{"statusCode":200}`, TargetHealth{lambdaTarget, StateUnavailable, healthDisabled}},
		{"200", check, `{"statusCode":200}`, TargetHealth{lambdaTarget, StateHealthy, ""}},
		{"503", check, `{"statusCode":503}`, TargetHealth{lambdaTarget, StateUnhealthy, healthMismatch}},
		{"an invalid answer", check, `{"statusCode":null}`, TargetHealth{lambdaTarget, StateUnhealthy, healthFailed}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			changes := make(chan HealthChange, 100)
			lb, err := New(Config{OnHealth: func(c HealthChange) { changes <- c }})
			require.NoError(t, err)
			require.NoError(t, lb.AddLambdaGroup("f", LambdaGroup{Function: says(tc.answer), Health: tc.health}))
			assert.Equal(t, []TargetHealth{{lambdaTarget, StateUnused, healthNotInUse}}, healthOf(t, lb, "f"))
			require.NoError(t, lb.SetDefault(Forward{"f": 0}))
			if tc.health != nil {
				assert.Equal(t, tc.want.State, receive(t, changes).To)
			}
			assert.Equal(t, []TargetHealth{tc.want}, healthOf(t, lb, "f"))
			require.NoError(t, lb.SetDefault(FixedResponse{Status: 404}))
			assert.Equal(t, []TargetHealth{{lambdaTarget, StateUnused, healthNotInUse}}, healthOf(t, lb, "f"))
			require.NoError(t, lb.Close())
		})
	}
}

func TestAnUnhealthyFunctionStillGetsRequests(t *testing.T) {
	changes := make(chan HealthChange, 100)
	f := serveFunction(t, Config{OnHealth: func(c HealthChange) { changes <- c }}, LambdaGroup{
		Function: says(`{"statusCode":503,"body":"mine"}`),
		Health:   &HealthCheck{Interval: time.Millisecond, UnhealthyThreshold: 1},
	})
	assert.Equal(t, StateUnhealthy, receive(t, changes).To)
	_, body := f.get("/")
	assert.Equal(t, "mine", body)
}

func healthOf(t *testing.T, lb *LoadBalancer, group string) []TargetHealth {
	t.Helper()
	all, err := lb.Health(group)
	require.NoError(t, err)
	return all
}
