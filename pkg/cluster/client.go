package cluster

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Option changes how [Dial] reaches a registry beyond what its URL says.
type Option func(*access)

// access is what a client is made from.
type access struct {
	address
	iam        *IAM
	serverless bool
	budget     time.Duration
	lifetime   time.Duration    // of a connection, give or take a twentieth
	trust      time.Duration    // how long an idle connection is believed to be alive
	wall       func() time.Time // signs IAM tokens
}

// WithServerless says that the registry is an ElastiCache Serverless cache: the
// cluster protocol with one endpoint that answers for all slots, which therefore
// nobody asks for.
func WithServerless() Option { return func(a *access) { a.serverless = true } }

// Dial returns a client for rawURL that obeys budget, the time one operation may
// take with everything that it needs: dialling, retries, waiting for a
// connection. rawURL is as [CheckURL] wants it. Nothing is dialled before the
// first operation. The error wraps [ErrInvalid] and never holds the password.
//
// The profile is that of a process which may be frozen between two calls, as
// Lambda does, and is the same for all: who is never frozen loses nothing by it,
// and has the larger budget. Figures are of go-redis v9.23, options.go.
//
//   - The context's deadline reaches the socket, else a dead peer costs 5 s; and
//     a dial is one attempt within the budget, TLS included, not five of 5 s. In
//     a cluster it gets half of that, so that a member which is gone leaves time
//     to ask another.
//   - One connection where one will do: pipelines share those of single commands,
//     none is opened ahead, nothing runs in the background, and the pool's second
//     one is for whoever comes meanwhile.
//   - No connection is trusted after a gap of a minute by the wall clock: servers
//     and what lies between close idle ones after five or six, and a TLS
//     connection is never checked before use (go-redis#3138). Those that died
//     sooner cost a retry each, which is why there are as many retries as
//     connections.
//   - Neither CLIENT SETINFO nor MAINT_NOTIFICATIONS nor COMMAND: round trips of
//     each new connection, unknown to some servers and forbidden to some users.
//     What a cold start sends is HELLO and the command; in a cluster CLUSTER SLOTS
//     before that, on a connection to whoever the URL names.
//   - No connection reaches 12 h, at which ElastiCache drops what IAM let in.
//   - A server that is back is found at once, see forgiving; and where the primary
//     went, see members and lookAtEpoch.
//
// The library's own log is switched off for the process: what matters comes back
// as an error.
func Dial(rawURL string, budget time.Duration, options ...Option) (redis.UniversalClient, error) {
	a, err := newAccess(rawURL, budget, options)
	if err != nil {
		return nil, err
	}
	return a.dial(), nil
}

// CheckURL returns nil if [Dial] would take rawURL with these options:
//
//	redis[s]://[[user]:password@]host[:port][,host[:port]…][/db][?option…]
//
// rediss is TLS. The options are cluster=true (the cluster protocol; several
// hosts, of which any that answers will do), addr=host:port (one more host, as
// go-redis writes it), db, protocol (2 or 3) and skip_verify=true (any
// certificate will do).
func CheckURL(rawURL string, options ...Option) error {
	_, err := newAccess(rawURL, time.Second, options)
	return err
}

const (
	poolSize    = 2
	maxRetries  = poolSize // each pooled connection may turn out dead once
	maxIdleTime = time.Minute
	maxLifetime = 11 * time.Hour // with what is added at random still short of 12 h
)

func newAccess(rawURL string, budget time.Duration, options []Option) (*access, error) {
	a := &access{budget: budget, lifetime: maxLifetime, trust: maxIdleTime, wall: time.Now}
	for _, o := range options {
		o(a)
	}
	var err error
	if a.address, err = parseURL(rawURL); err != nil {
		return nil, err
	}
	switch {
	case a.iam == nil:
	case !a.secure:
		err = urlFault("IAM authentication needs TLS: write rediss://")
	case a.user != "" || a.password != "":
		err = urlFault("with IAM authentication it holds neither user nor password")
	}
	return a, err
}

func (a *access) dial() redis.UniversalClient {
	logging.Disable()
	o := a.options()
	if !a.clustered && !a.serverless {
		return redis.NewClient(o.Simple())
	}
	c := o.Cluster()
	c.DisableRoutingPolicies = true      // else COMMAND, 50 kB, before the first one
	c.ClusterStateReloadInterval = never // see members
	if a.serverless {
		c.ClusterSlots = oneForAll(a.hosts[0])
		return redis.NewClusterClient(c)
	}
	c.DialTimeout = a.budget / 2
	return newMembers(c)
}

const never = 1000 * time.Hour

// oneForAll says that the member called addr holds every slot.
func oneForAll(addr string) func(context.Context) ([]redis.ClusterSlot, error) {
	return func(context.Context) ([]redis.ClusterSlot, error) {
		return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: addr}}}}, nil
	}
}

// options returns the profile.
func (a *access) options() *redis.UniversalOptions {
	o := &redis.UniversalOptions{
		Addrs: a.hosts, DB: a.db, Protocol: a.protocol, Username: a.user, Password: a.password,
		PoolSize: poolSize, PipelinePoolSize: -1, MinIdleConns: 0,
		MaxRetries: maxRetries, MaxRedirects: maxRetries,
		MinRetryBackoff: 5 * time.Millisecond, MaxRetryBackoff: 50 * time.Millisecond,
		ContextTimeoutEnabled: true, DialerRetries: 1,
		DialTimeout: a.budget, ReadTimeout: a.budget, WriteTimeout: a.budget, PoolTimeout: a.budget,
		ConnMaxIdleTime: a.trust, ConnMaxLifetime: a.lifetime, ConnMaxLifetimeJitter: a.lifetime / 20,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if a.secure {
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: a.unverified}
	}
	o.Dialer = forgiving(dial(a.budget, o.TLSConfig, a.serverName))
	if a.iam != nil {
		o.CredentialsProviderContext = func(ctx context.Context) (user, password string, err error) {
			password, err = a.iam.token(ctx, a.serverless, a.wall())
			return a.iam.User, password, err
		}
	}
	return o
}
