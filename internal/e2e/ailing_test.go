package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/pkg/cluster"
)

// ailment is what befalls a registry that is there. The test itself reaches it
// all the while; the function reaches it through the proxy.
type ailment struct {
	redis      []redistest.Option
	user       string // whom the function goes by, with @; empty means the default user
	prepare    func(t *testing.T, a *ailing)
	begin, end func(t *testing.T, a *ailing)
}

// ailing is a world with its registry at the other end of a proxy.
type ailing struct {
	*world
	proxy *proxy
	raw   *redis.Client
	env   map[string]string // of the function
}

const expired, valid = -time.Minute, time.Hour

var ailments = map[string]ailment{
	"nothing comes through to it": {
		begin: func(_ *testing.T, a *ailing) { a.proxy.swallow(true) },
		end:   func(_ *testing.T, a *ailing) { a.proxy.swallow(false) },
	},
	"it answers 300 ms late": {
		begin: func(_ *testing.T, a *ailing) { a.proxy.slow(300 * time.Millisecond) },
		end:   func(_ *testing.T, a *ailing) { a.proxy.slow(0) },
	},
	"it refuses the password": {
		user: "function:secret@",
		prepare: func(t *testing.T, a *ailing) {
			a.do(t, "ACL", "SETUSER", "function", "on", ">secret", "~*", "&*", "+@all")
		},
		begin: func(t *testing.T, a *ailing) {
			a.do(t, "ACL", "SETUSER", "function", "resetpass", ">changed")
			a.redis.DropClients()
		},
		end: func(t *testing.T, a *ailing) { a.do(t, "ACL", "SETUSER", "function", ">secret") },
	},
	"it lets the function do nothing": {
		user: "function:secret@",
		prepare: func(t *testing.T, a *ailing) {
			a.do(t, "ACL", "SETUSER", "function", "on", ">secret", "~*", "&*", "+@all")
		},
		begin: func(t *testing.T, a *ailing) { a.do(t, "ACL", "SETUSER", "function", "-@all") },
		end:   func(t *testing.T, a *ailing) { a.do(t, "ACL", "SETUSER", "function", "+@all") },
	},
	"its certificate has expired": {
		redis: []redistest.Option{redistest.WithTLS()},
		begin: func(_ *testing.T, a *ailing) {
			a.redis.Certify(time.Now().Add(expired))
			a.redis.DropClients()
		},
		end: func(_ *testing.T, a *ailing) { a.redis.Certify(time.Now().Add(valid)) },
	},
	"it is full": {
		begin: func(t *testing.T, a *ailing) { a.do(t, "CONFIG", "SET", "maxmemory", "1") },
		end:   func(t *testing.T, a *ailing) { a.do(t, "CONFIG", "SET", "maxmemory", "0") },
	},
}

func (a *ailing) do(t *testing.T, command ...any) {
	t.Helper()
	require.NoError(t, a.raw.Do(t.Context(), command...).Err())
}

// Whatever ails the registry, the function answers in time by what it knew, and
// the first request after that by what the registry holds then.
func TestAnAilingRegistryCostsNoAnswerAndNoTime(t *testing.T) {
	for name, a := range ailments {
		t.Run(name, func(t *testing.T) {
			var proxied *ailing
			outage(func(t *testing.T, _ *world) error { return a.suffer(t, proxied) }).inTime(t, func() *world {
				proxied = newAiling(t, a)
				return proxied.world
			})
		})
	}
}

// newAiling starts a registry with a port of its own for the test, which speaks no TLS.
func newAiling(t *testing.T, of ailment) *ailing {
	t.Helper()
	redis, env := redistest.Start(t, of.redis...), maps.Clone(hurried)
	p, test := startProxy(t, redis.Addr), redis.Addr
	env["DETOUR_REDIS_URL"] = "redis://" + of.user + p.addr
	if redis.TLS != nil {
		test = redis.AlsoPlain()
		env["DETOUR_REDIS_URL"] = "rediss://" + of.user + p.addr
		env["SSL_CERT_FILE"] = redis.CAFile
	}
	a := &ailing{world: newWorldOn(t, redis, "redis://"+test, 1, env), proxy: p, raw: rawClient(t, test), env: env}
	if of.prepare != nil {
		of.prepare(t, a)
	}
	return a
}

func (of *ailment) suffer(t *testing.T, a *ailing) error {
	a.register(t, "g1", "green", "http://g1.example.com")
	if err := a.expect(t.Context(), http.StatusTemporaryRedirect, "http://g1.example.com/"); err != nil {
		return fmt.Errorf("before: %w", err)
	}
	of.begin(t, a)
	for range 3 {
		if err := a.expectInTime(t.Context(), http.StatusTemporaryRedirect, "http://g1.example.com/"); err != nil {
			of.end(t, a)
			return fmt.Errorf("while it lasts: %w", err)
		}
	}
	of.end(t, a)
	a.register(t, "g2", "green", "http://g2.example.com")
	a.pause(t, cluster.NodeTarget("g1"))
	if err := a.expectInTime(t.Context(), http.StatusTemporaryRedirect, "http://g2.example.com/"); err != nil {
		return fmt.Errorf("after: %w", err)
	}
	return nil
}

// A primary that was demoted goes on answering with what it has. Whether or not
// it closes its clients' connections, as Sentinel has it do, and though the name
// leads elsewhere for new ones only, the next request is decided by what its
// successor holds.
func TestADemotedPrimaryIsNotBelieved(t *testing.T) {
	for name, drop := range map[string]bool{"that closes its connections": true, "that keeps them": false} {
		t.Run(name, func(t *testing.T) {
			var a *ailing
			outage(func(t *testing.T, _ *world) error { return a.demoted(t, drop) }).inTime(t, func() *world {
				a = newAiling(t, ailment{})
				return a.world
			})
		})
	}
}

func (a *ailing) demoted(t *testing.T, drop bool) error {
	successor := redistest.Start(t)
	successor.Follow(a.redis)
	a.register(t, "g1", "green", "http://g1.example.com")
	require.EqualValues(t, 1, a.raw.Wait(t.Context(), 1, patience).Val(), "replicas that have it")
	for range 2 {
		if err := a.expect(t.Context(), http.StatusTemporaryRedirect, "http://g1.example.com/"); err != nil {
			return fmt.Errorf("before: %w", err)
		}
	}
	successor.Promote()
	a.proxy.leadTo(successor.Addr)
	a.redis.DemoteToNobody()
	if drop {
		a.redis.DropClients()
	}
	a.registry = openRegistry(t, successor.URL)
	a.register(t, "g2", "green", "http://g2.example.com")
	a.pause(t, cluster.NodeTarget("g1"))
	for range 3 {
		if err := a.expectInTime(t.Context(), http.StatusTemporaryRedirect, "http://g2.example.com/"); err != nil {
			return fmt.Errorf("after: %w", err)
		}
	}
	return nil
}
