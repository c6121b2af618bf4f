package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/redirect"
)

// stub is a source that returns what it holds, or panics.
type stub struct {
	snapshot *cluster.Snapshot
	from     cluster.Origin
	err      error
	panics   bool
	counted  []string
}

func (s *stub) Snapshot(context.Context) (*cluster.Snapshot, cluster.Origin, error) {
	if s.panics {
		panic("boom")
	}
	return s.snapshot, s.from, s.err
}

func (s *stub) Count(_ cluster.Millis, names ...string) { s.counted = append(s.counted, names...) }

var errDown = errors.New("refused")

func oneNode(t *testing.T) *cluster.Snapshot {
	t.Helper()
	s, err := cluster.Static([]string{"https://n1.example.com"}, time.Now())
	require.NoError(t, err)
	return s
}

func testHandler(s source) (*handler, *bytes.Buffer) {
	var logged bytes.Buffer
	return &handler{
		source: s, redirect: redirect.New(redirect.Config{MaxRedirects: 3, RetryAfter: 5 * time.Second}, globalRandom{}),
		wall: time.Now, log: slog.New(slog.NewJSONHandler(&logged, nil)),
	}, &logged
}

func invoke(t *testing.T, h lambda.Handler, event string) events.ALBTargetGroupResponse {
	t.Helper()
	body, err := h.Invoke(t.Context(), []byte(event))
	require.NoError(t, err, "an error would be a 502")
	require.NotContains(t, string(body), "null", "and so would a null")
	var answer events.ALBTargetGroupResponse
	require.NoError(t, json.Unmarshal(body, &answer))
	return answer
}

const (
	single = `{"requestContext":{"elb":{"targetGroupArn":"arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/blue/1"}},
		"httpMethod":"POST","path":"/a%2Fb","queryStringParameters":{"x":"1"},"headers":{"host":"app.example.com","x-forwarded-proto":"https"},"body":"","isBase64Encoded":false}`
	multi = `{"httpMethod":"GET","path":"/a","multiValueQueryStringParameters":{"x":["1","2"]},"multiValueHeaders":{"host":["app.example.com"]},"body":"","isBase64Encoded":false}`
	check = `{"httpMethod":"GET","path":"/","queryStringParameters":{},"headers":{"user-agent":"ELB-HealthChecker/2.0"},"body":"","isBase64Encoded":false}`
)

func TestAnEventIsAnsweredInItsOwnMode(t *testing.T) {
	s := &stub{snapshot: oneNode(t), from: cluster.FromRegistry}
	h, logged := testHandler(s)
	answer := invoke(t, h, single)
	assert.Equal(t, 307, answer.StatusCode)
	assert.Equal(t, "307 Temporary Redirect", answer.StatusDescription)
	assert.Regexp(t, `^https://n1\.example\.com/a%2Fb\?x=1&detour=1\.[a-z0-9.]+$`, answer.Headers["Location"])
	assert.Empty(t, answer.MultiValueHeaders)

	answer = invoke(t, h, multi)
	assert.Regexp(t, `^https://n1\.example\.com/a\?x=1&x=2&detour=1\.[a-z0-9.]+$`, answer.MultiValueHeaders["Location"][0])
	assert.Empty(t, answer.Headers)
	assert.Equal(t, []string{"redirected", "origin:-", "node:n1.example.com"}, s.counted[:3])
	assert.Empty(t, logged.String(), "a redirect costs no log line")
}

func TestAHealthCheckNeedsNoRegistry(t *testing.T) {
	h, _ := testHandler(&stub{panics: true})
	assert.Equal(t, 200, invoke(t, h, check).StatusCode)
}

func TestALostRegistryIsA503(t *testing.T) {
	h, logged := testHandler(&stub{err: errDown})
	answer := invoke(t, h, single)
	assert.Equal(t, 503, answer.StatusCode)
	assert.Equal(t, "5", answer.Headers["Retry-After"])
	assert.NotContains(t, answer.Body, "refused", "the cause is for the log, not for the client")
	assert.Contains(t, logged.String(), "refused")
}

func TestWhatIsLeftOfTheRegistryServes(t *testing.T) {
	h, logged := testHandler(&stub{snapshot: oneNode(t), from: cluster.LastKnown, err: errDown})
	assert.Equal(t, 307, invoke(t, h, single).StatusCode)
	assert.Contains(t, logged.String(), "last-known")
}

func TestAPanicIsA503(t *testing.T) {
	h, logged := testHandler(&stub{panics: true})
	answer := invoke(t, h, multi)
	assert.Equal(t, 503, answer.StatusCode)
	assert.NotEmpty(t, answer.MultiValueHeaders["Retry-After"])
	assert.Contains(t, logged.String(), "boom")
}

func TestWhatIsNoEventIsA400(t *testing.T) {
	h, _ := testHandler(&stub{snapshot: oneNode(t)})
	for _, payload := range []string{"", "null", "[]", `"x"`, `{`, `{"httpMethod":`, "\xff\xfe", `{"path":"/"`} {
		assert.Equal(t, 400, invoke(t, h, payload).StatusCode, payload)
	}
	assert.Equal(t, 307, invoke(t, h, `{}`).StatusCode, "an event without a path is one for /")
}

func TestAFaultyConfigurationAnswers503AndIsNamedWhole(t *testing.T) {
	var logged bytes.Buffer
	h := newHandler(map[string]string{
		"DETOUR_MODE": "magic", "DETOUR_POLICY": "best", "DETOUR_MAX_REDIRECTS": "many", "DETOUR_FADE_IN": "soon", "DETOUR_CLUSTER": "a b",
	}, time.Now, slog.New(slog.NewJSONHandler(&logged, nil)))
	for _, event := range []string{single, multi, check} {
		assert.Equal(t, 503, invoke(t, h, event).StatusCode)
	}
	for _, variable := range []string{"DETOUR_MODE", "DETOUR_POLICY", "DETOUR_MAX_REDIRECTS", "DETOUR_FADE_IN", "DETOUR_CLUSTER"} {
		assert.Contains(t, logged.String(), variable)
	}
}

func TestAStaticListNeedsNoRegistry(t *testing.T) {
	var logged bytes.Buffer
	h := newHandler(map[string]string{"DETOUR_MODE": "static", "DETOUR_STATIC_NODES": "https://n9.example.com"},
		time.Now, slog.New(slog.NewJSONHandler(&logged, nil)))
	assert.Contains(t, invoke(t, h, single).Headers["Location"], "https://n9.example.com/a%2Fb?x=1&detour=1.")
	assert.Empty(t, logged.String())
}

func TestAnUnreachableRegistryLeavesTheStaticList(t *testing.T) {
	h := newHandler(map[string]string{
		"DETOUR_REDIS_URL": "redis://127.0.0.1:1", "DETOUR_STATIC_NODES": "https://n9.example.com",
	}, time.Now, slog.New(slog.DiscardHandler))
	began := time.Now()
	assert.Equal(t, 307, invoke(t, h, single).StatusCode)
	assert.Less(t, time.Since(began), 10*time.Second)
}

// Whatever the bytes, the answer is one that a load balancer takes.
func FuzzInvoke(f *testing.F) {
	for _, event := range []string{single, multi, check, "", "null", `{"path":"*"}`, `{"path":"//x","httpMethod":"TRACE"}`} {
		f.Add([]byte(event))
	}
	s, err := cluster.Static([]string{"https://n1.example.com"}, time.Now())
	if err != nil {
		f.Fatal(err)
	}
	h, _ := testHandler(&stub{snapshot: s, from: cluster.FromRegistry})
	h.log = slog.New(slog.DiscardHandler)
	f.Fuzz(func(t *testing.T, payload []byte) {
		answer := invoke(t, h, string(payload))
		switch answer.StatusCode {
		case 200, 204, 307, 400, 404, 405, 414, 503:
		default:
			t.Errorf("status %d", answer.StatusCode)
		}
	})
}
