package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// IAM says as whom a client authenticates to ElastiCache: with a token signed by
// AWS credentials instead of a password (AWS, "Authenticating with IAM", for
// ElastiCache). It needs TLS and engine version 7.
type IAM struct {
	User        string                  // the user's id, which must be its name too; required
	Cache       string                  // the serverless cache's name or the replication group's id, no endpoint; required
	Region      string                  // the cache's; required
	Credentials aws.CredentialsProvider // asked for each token; nil means the environment's, as Lambda sets them
}

// WithIAM authenticates as i. The URL must hold neither user nor password. Each
// new connection gets a token of its own: one is valid for 15 minutes, and the
// connection that it opened for 12 hours, which none reaches.
func WithIAM(i IAM) Option { return func(a *access) { a.iam = &i } }

// tokenLife is the longest that ElastiCache takes.
const tokenLife = 15 * time.Minute

// token returns what stands for the password at now: a request to connect, signed
// in its URL, without the scheme. A serverless cache wants to be called one; a
// replication group refuses that.
func (i *IAM) token(ctx context.Context, serverless bool, now time.Time) (string, error) {
	provider := i.Credentials
	if provider == nil {
		provider = aws.CredentialsProviderFunc(fromEnvironment)
	}
	credentials, err := provider.Retrieve(ctx)
	if err != nil {
		return "", fmt.Errorf("get AWS credentials: %w", err)
	}
	query := url.Values{
		"Action": {"connect"}, "User": {i.User},
		"X-Amz-Expires": {strconv.Itoa(int(tokenLife.Seconds()))},
	}
	if serverless {
		query.Set("ResourceType", "ServerlessCache")
	}
	target := url.URL{Scheme: "http", Host: strings.ToLower(i.Cache), Path: "/", RawQuery: query.Encode()}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return "", fmt.Errorf("sign as %s: %w", i.User, err)
	}
	empty := sha256.Sum256(nil)
	signed, _, err := v4.NewSigner().PresignHTTP(ctx, credentials, request, hex.EncodeToString(empty[:]), "elasticache", i.Region, now)
	if err != nil {
		return "", fmt.Errorf("sign as %s: %w", i.User, err)
	}
	return strings.TrimPrefix(signed, "http://"), nil
}

// fromEnvironment reads the credentials anew each time.
func fromEnvironment(context.Context) (aws.Credentials, error) {
	c := aws.Credentials{
		AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"),
		SessionToken: os.Getenv("AWS_SESSION_TOKEN"), Source: "environment",
	}
	if !c.HasKeys() {
		return c, errors.New("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set")
	}
	return c, nil
}
