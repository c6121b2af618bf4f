package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/localaws"
	"github.com/detourhq/detour/pkg/cluster"
)

// fronted is a function whose load balancer has a rule for each of its groups.
type fronted struct {
	world
	aws *localaws.ELB
}

// newFronted has n paused groups, and one that stands in. Each call of AWS takes as
// long as slow says.
func newFronted(t *testing.T, n int, slow time.Duration, environment ...string) fronted {
	t.Helper()
	server := &localaws.Server{ELB: localaws.NewELB()}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(slow)
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(api.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": api.URL, "AWS_REGION": region, "AWS_ACCESS_KEY_ID": "made", "AWS_SECRET_ACCESS_KEY": "up",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	w := fronted{newWorld(t, append(environment, "DETOUR_TARGET_GROUP="+localaws.TargetGroupARN("detour"))...), server.ELB}
	w.register(t, "n1") // of blue, which has no rule
	for i := range n {
		name := fmt.Sprintf("zone-%d", i)
		tg := localaws.TargetGroupARN(name)
		w.aws.Rules[localaws.RuleARN(name)] = rule(name, tg)
		w.put(t, name)
		_, err := w.registry.Pause(t.Context(), cluster.GroupTarget(name), cluster.PauseRequest{Mode: cluster.Redirect})
		require.NoError(t, err)
	}
	return w
}

func rule(name, targetGroup string) types.Rule {
	return types.Rule{RuleArn: aws.String(localaws.RuleARN(name)), IsDefault: aws.Bool(false), Actions: localaws.AsRead([]types.Action{{
		Type:          types.ActionTypeEnumForward,
		ForwardConfig: &types.ForwardActionConfig{TargetGroups: []types.TargetGroupTuple{{TargetGroupArn: &targetGroup, Weight: aws.Int32(1)}}},
	}})}
}

func (w fronted) put(t *testing.T, name string) {
	t.Helper()
	_, err := w.registry.ChangeGroup(t.Context(), name, func(g *cluster.Group) error {
		g.Rules, g.TargetGroup = []string{localaws.RuleARN(name)}, localaws.TargetGroupARN(name)
		return nil
	})
	require.NoError(t, err)
}

// measured makes a tick and returns its metrics.
func (w fronted) measured(t *testing.T) map[string]float64 {
	t.Helper()
	w.metrics.Reset()
	w.invoke(t, t.Context(), `{"command":"tick"}`)
	var line struct{ RulesContested, AwsUnreachable, RegistryErrors float64 }
	require.NoError(t, json.Unmarshal(bytes.TrimSpace(w.metrics.Bytes()), &line), w.metrics)
	return map[string]float64{"contested": line.RulesContested, "unreachable": line.AwsUnreachable, "errors": line.RegistryErrors}
}

// The registry's part is made in time, and the tick is measured, though the rules of
// sixty groups take many times that. A busy machine gets more time.
func TestASlowAWSKeepsNoSweepFromBeingMade(t *testing.T) {
	var sweeps any
	var writes string
	for _, times := range []time.Duration{1, 4, 10} {
		w := newFronted(t, 60, 30*time.Millisecond, "DETOUR_SWEEP_EVERY=10ms")
		w.handler.outside.most = times * 600 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), margin+times*2*time.Second)
		defer cancel()
		answer := w.invoke(t, ctx, `{"command":"tick"}`)
		require.NoError(t, ctx.Err(), "it ends before the function does")
		assert.InDelta(t, 0.0, answer["errors"], 0)
		assert.Equal(t, 1, strings.Count(w.metrics.String(), "\n"))
		sweeps, writes = answer["sweeps"], strings.Join(w.aws.Writes, " ")
		if sweeps.(float64) > 2 && strings.Contains(writes, "ModifyRule") {
			break
		}
	}
	assert.Greater(t, sweeps, 2.0)
	assert.Contains(t, writes, "ModifyRule", "what a sweep leaves the next one does")
}

func TestWhoeverHasToSeeToARuleIsCalled(t *testing.T) {
	quiet := map[string]float64{"contested": 0, "unreachable": 0, "errors": 0}
	called := map[string]float64{"contested": 1, "unreachable": 0, "errors": 0}
	for _, row := range []struct {
		name   string
		change func(w fronted)
		want   map[string]float64
	}{
		{"nobody where it was moved", func(fronted) {}, quiet},
		{"the rule was changed by somebody else", func(w fronted) {
			w.aws.Rules[localaws.RuleARN("zone-0")] = rule("zone-0", localaws.TargetGroupARN("other"))
		}, called},
		{"the registry was lost while it was moved", func(w fronted) {
			w.server.FlushAll()
			w.put(t, "zone-0")
		}, called},
		{"AWS refuses", func(w fronted) {
			w.aws.Before = func(verb, _ string) error {
				if verb == "DescribeRules" {
					return localaws.Error("AccessDenied", "no")
				}
				return nil
			}
		}, map[string]float64{"contested": 0, "unreachable": 1, "errors": 0}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newFronted(t, 1, 0)
			require.Equal(t, quiet, w.measured(t))
			row.change(w)
			assert.Equal(t, row.want, w.measured(t))
			assert.Equal(t, row.want, w.measured(t), "and again: the state lasts")
		})
	}
}

// A copy whose sweeps find another one at work tells nothing of what it saw before.
func TestWhatWasToldIsNotToldAgainByWhoDoesNothing(t *testing.T) {
	w := newFronted(t, 1, 0)
	w.measured(t)
	w.aws.Rules[localaws.RuleARN("zone-0")] = rule("zone-0", localaws.TargetGroupARN("other"))
	require.InDelta(t, 1.0, w.measured(t)["contested"], 0)
	_, err := w.registry.AcquireLease(t.Context(), "another", time.Minute)
	require.NoError(t, err)
	assert.InDelta(t, 0.0, w.measured(t)["contested"], 0)
}

// Sweeps are so far apart from begin to begin, not from end to begin.
func TestASweepThatTookLongIsFollowedAtOnce(t *testing.T) {
	h := &handler{wall: time.Now, every: time.Hour}
	ctx, cancel := context.WithTimeout(t.Context(), margin+time.Minute)
	defer cancel()
	assert.True(t, h.pause(ctx, time.Now().Add(-time.Second)), "it is due")
	assert.False(t, h.pause(ctx, time.Now().Add(h.every)), "there is no time for it")
}
