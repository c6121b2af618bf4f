package cluster

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The secret is the one of AWS's own examples.
func fixed(session string) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", SessionToken: session}, nil
	})
}

// The tokens were computed apart, with hmac and hashlib after AWS's "Create a
// signed AWS API request", and botocore 1.43 (SigV4QueryAuth) signs the same.
func TestATokenIsAPresignedRequestToConnect(t *testing.T) {
	for _, c := range []struct {
		name       string
		iam        IAM
		serverless bool
		now        time.Time
		want       string
	}{
		{
			"a replication group, without a session",
			IAM{"detour-redirect", "Detour-Registry", "eu-west-1", fixed("")},
			false,
			time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC),
			"detour-registry/?Action=connect&User=detour-redirect&X-Amz-Algorithm=AWS4-HMAC-SHA256" +
				"&X-Amz-Credential=AKIDEXAMPLE%2F20261201%2Feu-west-1%2Felasticache%2Faws4_request&X-Amz-Date=20261201T120000Z&X-Amz-Expires=900" +
				"&X-Amz-SignedHeaders=host&X-Amz-Signature=76ce1962fe8078fe25d3f2606a3cebd18798d2115a1ff71f2c9474e014e20219",
		},
		{
			"a serverless cache, with a session, in another time zone",
			IAM{"detour-redirect", "detour-cache", "us-east-1", fixed("session/token+=")},
			true,
			time.Date(2026, 12, 2, 1, 59, 59, 0, time.FixedZone("", 2*60*60)),
			"detour-cache/?Action=connect&ResourceType=ServerlessCache&User=detour-redirect&X-Amz-Algorithm=AWS4-HMAC-SHA256" +
				"&X-Amz-Credential=AKIDEXAMPLE%2F20261201%2Fus-east-1%2Felasticache%2Faws4_request&X-Amz-Date=20261201T235959Z&X-Amz-Expires=900" +
				"&X-Amz-Security-Token=session%2Ftoken%2B%3D" +
				"&X-Amz-SignedHeaders=host&X-Amz-Signature=5fc1b31673ca1ce6ba0831c29eab93f2c8854a43136e1451f42083c53e2a8989",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			token, err := c.iam.token(t.Context(), c.serverless, c.now)
			require.NoError(t, err)
			assert.Equal(t, c.want, token)
		})
	}
}

func TestTheEnvironmentIsReadForEachToken(t *testing.T) {
	i := IAM{User: "u", Cache: "c", Region: "eu-west-1"}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	_, err := i.token(t.Context(), false, time.Now())
	require.ErrorContains(t, err, "AWS_ACCESS_KEY_ID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	for _, id := range []string{"AKIDONE", "AKIDTWO"} {
		t.Setenv("AWS_ACCESS_KEY_ID", id)
		t.Setenv("AWS_SESSION_TOKEN", id+"-session")
		token, err := i.token(t.Context(), false, time.Now())
		require.NoError(t, err)
		assert.Contains(t, token, "X-Amz-Credential="+id+"%2F")
		assert.Contains(t, token, "X-Amz-Security-Token="+id+"-session&")
	}
}

// elastiCache lets in whoever has a token of less than 15 minutes, and counts them.
type elastiCache struct {
	now   func() time.Time
	let   atomic.Int32
	wrong atomic.Int32
}

func (e *elastiCache) answer(_ int, command []string) string {
	var user, token string
	switch strings.ToUpper(command[0]) {
	case "HELLO":
		user, token = command[3], command[4]
	case "AUTH":
		user, token = command[1], command[2]
	default:
		return pass
	}
	u, err := url.Parse("http://" + token)
	signed, bad := time.Parse("20060102T150405Z", u.Query().Get("X-Amz-Date"))
	if age := e.now().Sub(signed); errors.Join(err, bad) != nil || user != "detour" || age < -time.Minute || age > tokenLife {
		e.wrong.Add(1)
		return "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
	}
	e.let.Add(1)
	return pass
}

// signIn returns a registry that signs in to f by the clock wall.
func signIn(t *testing.T, f *fake, wall func() time.Time, lifetime time.Duration) *Registry {
	t.Helper()
	a, err := newAccess(f.url(), time.Second, []Option{WithIAM(IAM{"detour", "c", "eu-west-1", fixed("")})})
	require.NoError(t, err)
	a.wall, a.lifetime = wall, lifetime
	r, err := NewRegistry(a.dial(), "test")
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// graphql-hive/gateway#2328, redis/go-redis#2888: after 12 h the server drops the
// connection, and a token of then is of no use.
func TestTheFirstCallAfterThirteenHoursHasANewToken(t *testing.T) {
	began, frozen := time.Now(), atomic.Int64{}
	now := func() time.Time { return began.Add(time.Duration(frozen.Load())) }
	e := &elastiCache{now: now}
	f := startFake(t, began.Add(time.Hour), e.answer)
	r := signIn(t, f, now, maxLifetime)
	for hours := range int64(3) {
		frozen.Store(hours * 13 * int64(time.Hour))
		f.hangUp()
		epoch, err := r.Epoch(t.Context(), Counts{})
		require.NoError(t, err)
		assert.Equal(t, int64(7), epoch)
		assert.Equal(t, int32(hours+1), e.let.Load())
	}
	assert.Zero(t, e.wrong.Load(), "not one was refused")
}

func TestNoConnectionReachesTheEndOfItsLife(t *testing.T) {
	const limit = 400 * time.Millisecond // stands for 12 h
	e := &elastiCache{now: time.Now}
	born := make(map[int]time.Time)
	f := startFake(t, time.Now().Add(time.Hour), nil)
	f.answer = func(conn int, command []string) string {
		f.mu.Lock()
		defer f.mu.Unlock()
		if born[conn].IsZero() {
			born[conn] = time.Now()
		}
		if time.Since(born[conn]) > limit {
			return "-ERR connection is too old\r\n"
		}
		return e.answer(conn, command)
	}
	r := signIn(t, f, time.Now, limit/2)
	for end := time.Now().Add(3 * limit); time.Now().Before(end); {
		_, err := r.Epoch(t.Context(), Counts{})
		require.NoError(t, err)
	}
	assert.GreaterOrEqual(t, f.handshakes(), 5)
	assert.Less(t, maxLifetime+maxLifetime/20, 12*time.Hour)
}

func TestIAMNeedsTLSAndAURLWithoutAPassword(t *testing.T) {
	iam := WithIAM(IAM{"detour", "c", "eu-west-1", nil})
	require.NoError(t, CheckURL("rediss://c.example.com:6379", iam))
	require.NoError(t, CheckURL("rediss://c.example.com:6379", iam, WithServerless()))
	require.ErrorContains(t, CheckURL("redis://c.example.com:6379", iam), "TLS")
	for _, user := range []string{"u:secret@", ":secret@", "u@"} {
		err := CheckURL("rediss://"+user+"c.example.com:6379", iam)
		require.ErrorIs(t, err, ErrInvalid)
		assert.NotContains(t, err.Error(), "secret")
	}
}
