package bench

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/locallambda"
	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/pkg/cluster"
)

// event is what a load balancer sends of a browser's request.
const event = `{"requestContext":{"elb":{"targetGroupArn":"arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/detour/0123456789abcdef"}},` +
	`"httpMethod":"GET","path":"/cart/items%2F42","multiValueQueryStringParameters":{"page":["2"],"sort":["price"]},` +
	`"multiValueHeaders":{"accept":["text/html,application/xhtml+xml"],"accept-encoding":["gzip, deflate, br"],"accept-language":["en"],` +
	`"cookie":["JSESSIONID=0123456789ABCDEF.n1; theme=dark"],"host":["app.example.com"],"user-agent":["Mozilla/5.0 (X11; Linux x86_64)"],` +
	`"x-amzn-trace-id":["Root=1-5f84c7a9-1d2e3f4a5b6c7d8e9f0a1b2c"],"x-forwarded-for":["192.0.2.7"],"x-forwarded-port":["443"],` +
	`"x-forwarded-proto":["https"]},"body":"","isBase64Encoded":false}`

// host runs one copy of binary that is not frozen between invocations: what a
// freeze costs is the same for every function.
func host(b *testing.B, binary string, env map[string]string) *locallambda.Host {
	b.Helper()
	h, err := locallambda.New(locallambda.Config{Binary: binary, Env: env, Copies: 1, WaitForCopy: true, NoFreeze: true, Memory: 128, Log: os.Stderr})
	require.NoError(b, err)
	b.Cleanup(h.Close)
	return h
}

func invoke(b *testing.B, h *locallambda.Host) time.Duration {
	b.Helper()
	began := time.Now()
	_, err := h.Invoke(b.Context(), []byte(event))
	require.NoError(b, err)
	return time.Since(began)
}

// fleet returns a registry of n living nodes in ten groups, and its URL.
func fleet(b *testing.B, n int) (*cluster.Registry, string) {
	b.Helper()
	url := redistest.Start(b).URL
	client, err := cluster.Dial(url, 10*time.Second)
	require.NoError(b, err)
	r, err := cluster.NewRegistry(client, "default")
	require.NoError(b, err)
	b.Cleanup(func() { _ = r.Close() })
	for i := range n {
		id := fmt.Sprintf("node-%05d", i)
		_, _, err := r.Register(b.Context(), cluster.Descriptor{
			ID: id, Group: fmt.Sprintf("group-%d", i%10), Endpoint: "https://" + id + ".example.com", Weight: cluster.DefaultWeight,
			Zone: "eu-west-1a", Contexts: []string{"/"}, Version: "42", PulseMS: 3_600_000,
		}, cluster.Report{Status: cluster.Active})
		require.NoError(b, err)
	}
	return r, url
}
