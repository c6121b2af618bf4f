package config

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/redirect"
	"github.com/detourhq/detour/pkg/selection"
)

const url = "redis://registry.example.com:6379"

func TestTheDefaultsStand(t *testing.T) {
	c, err := ReadRedirect(map[string]string{"DETOUR_REDIS_URL": url})
	require.NoError(t, err)
	assert.Equal(t, Redirect{
		Registry:  Registry{Cluster: "default", URL: url, Timeout: 250 * time.Millisecond},
		Liveness:  Liveness{PulseEvery: 5 * time.Second, PulseTimeout: 15 * time.Second},
		Choice:    Choice{Policy: selection.Random, MaxRedirects: 3, FadeIn: 30 * time.Second, RetryAfter: 5 * time.Second, Carrier: redirect.QueryCarrier, SessionCookie: "JSESSIONID"},
		Mode:      RegistryMode,
		Freshness: 0, StaleIfError: 5 * time.Minute,
		Patience: Patience{HoldLimit: 100, HoldPerSource: 25},
	}, c)
	h, err := ReadHeartbeat(nil)
	require.NoError(t, err)
	assert.Equal(t, 2*time.Second, h.Timeout)
	assert.Equal(t, []any{10 * time.Second, 2 * time.Minute, 0.15, Switch(true), Switch(false)}, []any{h.SweepEvery, h.PruneAfter, h.PruneMax, h.Probe, h.AllowDefaultRule})
}

func TestEveryVariableIsRead(t *testing.T) {
	c, err := ReadRedirect(map[string]string{
		"DETOUR_REDIS_URL": url, "DETOUR_CLUSTER": "eu", "DETOUR_REDIS_TIMEOUT": "100ms", "DETOUR_PULSE_EVERY": "1s", "DETOUR_PULSE_TIMEOUT": "3s",
		"DETOUR_ORIGINS": "blue-paused=blue,host:App.Example.com=blue,path:/shop=shop,n7-tg=blue/n7", "DETOUR_POLICY": "rendezvous",
		"DETOUR_MAX_REDIRECTS": "20", "DETOUR_FADE_IN": "0", "DETOUR_RETRY_AFTER": "7s", "DETOUR_HOP_CARRIER": "cookie",
		"DETOUR_ALLOWED_HOSTS": "a.example.com,b.example.com:8443", "DETOUR_CORS_ORIGINS": "https://x.example.com", "DETOUR_CORS_CREDENTIALS": "on",
		"DETOUR_TRUST_FORWARDED_PATH": "1", "DETOUR_MODE": "static", "DETOUR_STATIC_NODES": "https://n1.example.com,https://n2.example.com",
		"DETOUR_FRESHNESS": "1s", "DETOUR_STALE_IF_ERROR": "10m",
		"DETOUR_SESSION_COOKIE": "SID", "DETOUR_PASS_KEY": "0123456789abcdef",
		"DETOUR_HOLD_MAX": "8s", "DETOUR_HOLD_LIMIT": "300", "DETOUR_HOLD_PER_SOURCE": "9",
	})
	require.NoError(t, err)
	assert.Equal(t, Redirect{
		Registry: Registry{Cluster: "eu", URL: url, Timeout: 100 * time.Millisecond},
		Liveness: Liveness{PulseEvery: time.Second, PulseTimeout: 3 * time.Second},
		Choice: Choice{
			Origins: []redirect.OriginRule{
				{TargetGroup: "blue-paused", Group: "blue"},
				{Host: "app.example.com", Group: "blue"},
				{Path: "/shop", Group: "shop"},
				{TargetGroup: "n7-tg", Group: "blue", Node: "n7"},
			},
			Policy: selection.Rendezvous, MaxRedirects: 20, RetryAfter: 7 * time.Second, Carrier: redirect.CookieCarrier,
			AllowedHosts: []string{"a.example.com", "b.example.com:8443"}, CORSOrigins: []string{"https://x.example.com"},
			CORSCredentials: true, TrustForwardedPath: true, SessionCookie: "SID", PassKey: "0123456789abcdef",
		},
		Mode: StaticMode, StaticNodes: []string{"https://n1.example.com", "https://n2.example.com"},
		Freshness: time.Second, StaleIfError: 10 * time.Minute,
		Patience: Patience{HoldMax: 8 * time.Second, HoldLimit: 300, HoldPerSource: 9},
	}, c)
}

func TestEveryFaultIsNamedAtOnce(t *testing.T) {
	_, err := ReadRedirect(map[string]string{
		"DETOUR_CLUSTER": "a b", "DETOUR_REDIS_URL": "http://user:secret@h", "DETOUR_REDIS_TIMEOUT": "250", "DETOUR_PULSE_EVERY": "-5s",
		"DETOUR_MODE": "magic", "DETOUR_STATIC_NODES": "n1.example.com", "DETOUR_ORIGINS": "blue", "DETOUR_POLICY": "best",
		"DETOUR_SESSION_COOKIE": "J SESSIONID", "DETOUR_PASS_KEY": "secret of 15 by",
		"DETOUR_MAX_REDIRECTS": "0", "DETOUR_HOP_CARRIER": "pigeon", "DETOUR_ALLOWED_HOSTS": "https://app.example.com", "DETOUR_CORS_CREDENTIALS": "maybe",
	})
	for _, variable := range []string{
		"DETOUR_CLUSTER", "DETOUR_REDIS_URL", "DETOUR_REDIS_TIMEOUT", "DETOUR_PULSE_EVERY", "DETOUR_MODE", "DETOUR_STATIC_NODES",
		"DETOUR_ORIGINS", "DETOUR_POLICY", "DETOUR_MAX_REDIRECTS", "DETOUR_HOP_CARRIER", "DETOUR_ALLOWED_HOSTS", "DETOUR_CORS_CREDENTIALS",
		"DETOUR_SESSION_COOKIE", "DETOUR_PASS_KEY",
	} {
		assert.Equal(t, 1, strings.Count(err.Error(), variable), "%s is named once in:\n%v", variable, err)
	}
	assert.NotContains(t, err.Error(), "secret")

	_, err = ReadHeartbeat(map[string]string{"DETOUR_PRUNE_MAX": "NaN", "DETOUR_PROBE": "yes", "DETOUR_SWEEP_EVERY": "soon"})
	for _, variable := range []string{"DETOUR_PRUNE_MAX", "DETOUR_PROBE", "DETOUR_SWEEP_EVERY"} {
		assert.ErrorContains(t, err, variable)
	}
}

func TestWhatCannotWorkIsRefused(t *testing.T) {
	_, err := ReadRedirect(nil)
	require.ErrorContains(t, err, "DETOUR_REDIS_URL is missing")
	_, err = ReadRedirect(map[string]string{"DETOUR_MODE": "static"})
	require.ErrorContains(t, err, "DETOUR_STATIC_NODES is empty")
	_, err = ReadRedirect(map[string]string{"DETOUR_REDIS_URL": " ", "DETOUR_MODE": "static", "DETOUR_STATIC_NODES": "https://n1.example.com", "DETOUR_POLICY": ""})
	require.NoError(t, err, "set to nothing counts as unset, and a static list needs no registry")
	for _, max := range []string{"0", "21"} {
		_, err = ReadRedirect(map[string]string{"DETOUR_REDIS_URL": url, "DETOUR_MAX_REDIRECTS": max})
		assert.ErrorContains(t, err, "DETOUR_MAX_REDIRECTS")
	}
	_, err = ReadRedirect(map[string]string{"DETOUR_REDIS_URL": url, "DETOUR_PASS_KEY": "sixteen bytes do"})
	require.NoError(t, err)
}

func TestIAMWantsAllItsParts(t *testing.T) {
	whole := map[string]string{
		"DETOUR_REDIS_URL": "rediss://cache.example.com:6379", "DETOUR_REDIS_IAM_USER": "detour", "DETOUR_REDIS_CACHE_NAME": "cache",
		"AWS_REGION": "eu-west-1", "DETOUR_REDIS_SERVERLESS": "on",
	}
	c, err := ReadRedirect(whole)
	require.NoError(t, err)
	assert.Equal(t, Registry{
		Cluster: "default", URL: "rediss://cache.example.com:6379", Timeout: 250 * time.Millisecond,
		Serverless: true, IAMUser: "detour", CacheName: "cache", Region: "eu-west-1",
	}, c.Registry)
	r, err := c.Open()
	require.NoError(t, err)
	require.NoError(t, r.Close())

	_, err = ReadRedirect(map[string]string{
		"DETOUR_REDIS_URL": "redis://u:secret@cache.example.com:6379", "DETOUR_REDIS_IAM_USER": "detour", "DETOUR_REDIS_SERVERLESS": "perhaps",
	})
	for _, variable := range []string{"DETOUR_REDIS_URL", "DETOUR_REDIS_CACHE_NAME", "AWS_REGION", "DETOUR_REDIS_SERVERLESS"} {
		assert.ErrorContains(t, err, variable)
	}
	assert.NotContains(t, err.Error(), "secret")
	delete(whole, "DETOUR_REDIS_IAM_USER")
	delete(whole, "AWS_REGION")
	_, err = ReadHeartbeat(whole)
	assert.NoError(t, err, "nobody signs in by IAM")
}

func TestSwitch(t *testing.T) {
	for text, want := range map[string]Switch{"on": true, "ON": true, "true": true, "1": true, "off": false, "false": false, "0": false} {
		got := !want
		require.NoError(t, got.UnmarshalText([]byte(text)))
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "yes", "2", "on "} {
		var s Switch
		assert.Error(t, s.UnmarshalText([]byte(text)), text)
	}
}

// Whatever stands in the variables, reading them names faults and never panics.
func FuzzReadRedirect(f *testing.F) {
	f.Add("host:a=b,path:/=c/d", "https://n1.example.com", "rediss://u:p@h:1/2?cluster=true", "5s")
	f.Add("=,=/,:", ",", "://", "1e9h")
	f.Fuzz(func(t *testing.T, origins, nodes, redis, duration string) {
		c, err := ReadRedirect(map[string]string{
			"DETOUR_ORIGINS": origins, "DETOUR_STATIC_NODES": nodes, "DETOUR_REDIS_URL": redis, "DETOUR_FADE_IN": duration,
		})
		if err == nil && (c.URL == "" || c.FadeIn < 0) {
			t.Errorf("passes: %+v", c)
		}
	})
}
