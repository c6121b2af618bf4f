package cluster

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Dial returns a client for rawURL that obeys budget, the time one operation may
// take with everything that it needs: dialling, retries, waiting for a
// connection. rawURL is redis:// or rediss:// (TLS) as [redis.ParseURL] reads
// it, and with cluster=true in its query a cluster's entry point. Nothing is
// dialled before the first operation. The error wraps [ErrInvalid] and never
// holds the password.
//
// The profile is that of a process which may be frozen between two calls, as
// Lambda does (figures: go-redis v9.23, options.go):
//   - the context's deadline reaches the socket (ContextTimeoutEnabled), else a
//     dead peer costs ReadTimeout, 5 s;
//   - few connections, no idle one kept open on purpose, and none trusted after
//     a minute: TLS connections are not checked before use, and a retry for
//     each that may be dead;
//   - neither CLIENT SETINFO nor MAINT_NOTIFICATIONS: a round trip each for every
//     new connection, and unknown to some servers;
//   - pipelines share the connections of single commands;
//   - a server that is back is found at once, see forgiving.
//
// The library's own log is switched off for the process: what matters comes back
// as an error.
func Dial(rawURL string, budget time.Duration) (redis.UniversalClient, error) {
	logging.Disable()
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("%w: registry URL cannot be parsed", ErrInvalid)
	}
	query := u.Query()
	clustered := false
	if v := query.Get("cluster"); v != "" {
		if clustered, err = strconv.ParseBool(v); err != nil {
			return nil, fmt.Errorf("%w: cluster=%q in the registry URL is neither true nor false", ErrInvalid, v)
		}
	}
	query.Del("cluster")
	u.RawQuery = query.Encode()
	if clustered {
		return dialCluster(u, budget)
	}
	return dialOne(u, budget)
}

// CheckURL returns nil if Dial would take rawURL.
func CheckURL(rawURL string) error {
	c, err := Dial(rawURL, time.Second)
	if err != nil {
		return err
	}
	return c.Close()
}

const (
	poolSize    = 2
	maxRetries  = poolSize // each pooled connection may turn out dead once
	maxIdleTime = time.Minute
)

func dialOne(u *url.URL, budget time.Duration) (redis.UniversalClient, error) {
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, urlError(u, err)
	}
	o.PoolSize, o.PipelinePoolSize, o.MinIdleConns = poolSize, -1, 0
	o.ContextTimeoutEnabled, o.MaxRetries = true, maxRetries
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = budget, budget, budget, budget
	o.DialerRetries = 1
	o.MinRetryBackoff, o.MaxRetryBackoff = 5*time.Millisecond, 50*time.Millisecond
	o.ConnMaxIdleTime = maxIdleTime
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.Dialer = forgiving(dial(budget, o.TLSConfig))
	return redis.NewClient(o), nil
}

func dialCluster(u *url.URL, budget time.Duration) (redis.UniversalClient, error) {
	o, err := redis.ParseClusterURL(u.String())
	if err != nil {
		return nil, urlError(u, err)
	}
	o.PoolSize, o.PipelinePoolSize, o.MinIdleConns = poolSize, -1, 0
	o.ContextTimeoutEnabled, o.MaxRedirects = true, maxRetries
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = budget, budget, budget, budget
	o.DialerRetries = 1
	o.MinRetryBackoff, o.MaxRetryBackoff = 5*time.Millisecond, 50*time.Millisecond
	o.ConnMaxIdleTime = maxIdleTime
	o.DisableIdentity = true
	o.DisableRoutingPolicies = true // else COMMAND, 50 kB, before the first one
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.Dialer = forgiving(dial(budget, o.TLSConfig))
	return redis.NewClusterClient(o), nil
}

// urlError keeps the password out of what is logged.
func urlError(u *url.URL, err error) error {
	text := err.Error()
	if password, ok := u.User.Password(); ok && password != "" {
		text = strings.ReplaceAll(text, password, "xxxxx")
	}
	return fmt.Errorf("%w: registry URL %s: %s", ErrInvalid, u.Redacted(), text)
}
