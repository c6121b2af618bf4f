package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/pkg/cluster"
)

// budget is what a request may take while the registry is at fault.
const budget = 500 * time.Millisecond

// outage is a scenario of a registry that fails. Its error tells what is not as
// it should be; that includes an answer over budget.
type outage func(t *testing.T, w *world) error

// hurried has the budget for the registry that is the default.
var hurried = map[string]string{"DETOUR_REDIS_TIMEOUT": "250ms"}

// errInvalid reports an answer that no delay explains: neither a redirect nor a 503
// that says when to come back.
var errInvalid = errors.New("invalid answer")

// inTime plays the scenario in a new world. A busy machine may delay one request
// or another, but not the same one in three worlds in a row. An invalid answer is
// not forgiven once.
func (o outage) inTime(t *testing.T, build func() *world) {
	t.Helper()
	var err error
	for range 3 {
		if err = o(t, build()); err == nil {
			return
		}
		if errors.Is(err, errInvalid) {
			break
		}
		t.Logf("tried again: %v", err)
	}
	t.Error(err)
}

func TestARegistryThatFailsCostsNoAnswerAndNoTime(t *testing.T) {
	strict := map[string]string{"DETOUR_REDIS_TIMEOUT": "250ms", "DETOUR_STALE_IF_ERROR": "0s"}
	static := map[string]string{
		"DETOUR_REDIS_TIMEOUT": "250ms", "DETOUR_STALE_IF_ERROR": "0s", "DETOUR_STATIC_NODES": "http://static.example.com",
	}
	for name, row := range map[string]struct {
		env map[string]string
		outage
	}{
		"it is not there at the start":       {hurried, absent},
		"it is killed":                       {hurried, killed},
		"it is suspended":                    {hurried, suspended},
		"it is lost and nothing is forgiven": {strict, unforgiven},
		"it is lost and there is a list":     {static, listed},
	} {
		t.Run(name, func(t *testing.T) {
			row.inTime(t, func() *world { return newWorld(t, 1, row.env) })
		})
	}
}

func TestAClusterThatFailsCostsNoAnswerAndNoTime(t *testing.T) {
	outage(killed).inTime(t, func() *world {
		redis := redistest.Start(t, redistest.WithCluster())
		return newWorldOn(t, redis, redis.URL+"?cluster=true", 1, hurried)
	})
}

// A primary that stands still is replaced. Until then the function decides by
// what it knew, and soon after by what the successor holds: it may first have to
// find out that the member it asks for the way is the one that stands still.
func TestAPrimaryThatStandsStillCostsNoAnswerAndNoTime(t *testing.T) {
	redis := redistest.StartCluster(t, 3, 3)
	w := newWorldOn(t, nil, redis.URL, 1, hurried)
	w.register(t, "g1", "green", "http://g1.example.com")
	require.NoError(t, w.expect(t.Context(), http.StatusTemporaryRedirect, "http://g1.example.com/"))
	still := redis.PrimaryOf(keyPrefix)
	still.Suspend()
	late := 0
	for range 4 {
		if err := w.expectInTime(t.Context(), http.StatusTemporaryRedirect, "http://g1.example.com/"); err != nil {
			t.Log(err)
			late++
		}
	}
	assert.LessOrEqual(t, late, 1, "a busy machine may delay one answer")

	successor := redis.AwaitFailover(keyPrefix, still)
	w.registry = openRegistry(t, successor.URL+"?cluster=true")
	w.register(t, "g2", "green", "http://g2.example.com")
	w.pause(t, cluster.NodeTarget("g1"))
	const most = 5
	for n := 1; ; n++ {
		err := w.expect(t.Context(), http.StatusTemporaryRedirect, "http://g2.example.com/")
		if err == nil {
			t.Logf("request %d was decided by the successor", n)
			break
		}
		require.Less(t, n, most, "%v", err)
	}
}

// What listens at the registry's address need not be a registry.
func TestAnImpostorCostsNoAnswerAndNoTime(t *testing.T) {
	for name, says := range map[string]string{
		"it says nothing":           "",
		"it speaks HTTP":            "HTTP/1.1 400 Bad Request\r\n\r\n",
		"it is loading":             strings.Repeat("-LOADING Redis is loading the dataset in memory\r\n", 20),
		"it wants a password":       strings.Repeat("-NOAUTH Authentication required.\r\n", 20),
		"it says yes to everything": strings.Repeat("+OK\r\n", 20),
		"it knows of nothing":       strings.Repeat("$-1\r\n", 20),
	} {
		t.Run(name, func(t *testing.T) {
			url := "redis://" + impostor(t, says)
			outage(func(t *testing.T, w *world) error {
				return w.expectInTime(t.Context(), http.StatusServiceUnavailable, "")
			}).inTime(t, func() *world { return newWorldOn(t, nil, url, 1, hurried) })
		})
	}
}

// impostor returns the address of a server that answers the first bytes of every
// connection with these, and then nothing more.
func impostor(t *testing.T, says string) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if _, err := conn.Read(make([]byte, 1024)); err == nil {
					_, _ = io.WriteString(conn, says)
				}
				_, _ = io.Copy(io.Discard, conn) // until the other end has gone
			}()
		}
	}()
	return listener.Addr().String()
}

func absent(t *testing.T, w *world) error {
	w.redis.Stop()
	for range 5 {
		if err := w.expectInTime(t.Context(), http.StatusServiceUnavailable, ""); err != nil {
			return fmt.Errorf("without a registry: %w", err)
		}
	}
	w.redis.Restart()
	w.register(t, "g1", "green", "http://g1.example.com")
	return w.expect(t.Context(), http.StatusTemporaryRedirect, "http://g1.example.com/")
}

func killed(t *testing.T, w *world) error {
	w.register(t, "g1", "green", "http://g1.example.com")
	if err := w.expect(t.Context(), http.StatusTemporaryRedirect, "http://g1.example.com/"); err != nil {
		return fmt.Errorf("before: %w", err)
	}
	w.redis.Kill()
	for range 5 {
		if err := w.expectInTime(t.Context(), http.StatusTemporaryRedirect, "http://g1.example.com/"); err != nil {
			return fmt.Errorf("without a registry: %w", err)
		}
	}
	w.redis.Restart() // empty
	if err := w.expectInTime(t.Context(), http.StatusTemporaryRedirect, "http://g1.example.com/"); err != nil {
		return fmt.Errorf("with an empty registry: %w", err)
	}
	w.register(t, "g2", "green", "http://g2.example.com")
	return w.expect(t.Context(), http.StatusTemporaryRedirect, "http://g2.example.com/")
}

func suspended(t *testing.T, w *world) error {
	w.register(t, "g1", "green", "http://g1.example.com")
	w.register(t, "g2", "green", "http://g2.example.com")
	w.pause(t, cluster.NodeTarget("g2"))
	if err := w.expect(t.Context(), http.StatusTemporaryRedirect, "http://g1.example.com/"); err != nil {
		return fmt.Errorf("before: %w", err)
	}
	w.redis.Suspend()
	for range 3 {
		if err := w.expectInTime(t.Context(), http.StatusTemporaryRedirect, "http://g1.example.com/"); err != nil {
			w.redis.Resume()
			return fmt.Errorf("while it stands still: %w", err)
		}
	}
	w.redis.Resume()
	w.pause(t, cluster.NodeTarget("g1"))
	return w.expect(t.Context(), http.StatusServiceUnavailable, "")
}

func unforgiven(t *testing.T, w *world) error {
	w.register(t, "g1", "green", "http://g1.example.com")
	if err := w.expect(t.Context(), http.StatusTemporaryRedirect, "http://g1.example.com/"); err != nil {
		return fmt.Errorf("before: %w", err)
	}
	w.redis.Kill()
	return w.expectInTime(t.Context(), http.StatusServiceUnavailable, "")
}

func listed(t *testing.T, w *world) error {
	w.register(t, "g1", "green", "http://g1.example.com")
	if err := w.expect(t.Context(), http.StatusTemporaryRedirect, "http://g1.example.com/"); err != nil {
		return fmt.Errorf("before: %w", err)
	}
	w.redis.Kill()
	return w.expectInTime(t.Context(), http.StatusTemporaryRedirect, "http://static.example.com/")
}

// expect asks once and reports an answer that has not this status, or that does
// not lead to the endpoint. A 503 must say when to come back.
func (w *world) expect(ctx context.Context, status int, endpoint string) error {
	resp, err := w.get(ctx, "/")
	if err != nil {
		return fmt.Errorf("%w: %w", errInvalid, err)
	}
	location, retry := resp.Header.Get("Location"), resp.Header.Get("Retry-After")
	redirect, unavailable := resp.StatusCode == http.StatusTemporaryRedirect, resp.StatusCode == http.StatusServiceUnavailable
	if redirect == (location == "") || unavailable == (retry == "") || !redirect && !unavailable {
		return fmt.Errorf("%w: %d to %q, retry after %q", errInvalid, resp.StatusCode, location, retry)
	}
	if resp.StatusCode != status || !strings.HasPrefix(location, endpoint) {
		return fmt.Errorf("got %d to %q, retry after %q", resp.StatusCode, location, retry)
	}
	return nil
}

// expectInTime is expect within the budget.
func (w *world) expectInTime(ctx context.Context, status int, endpoint string) error {
	began := time.Now()
	err := w.expect(ctx, status, endpoint)
	if took := time.Since(began); err == nil && took >= budget {
		return fmt.Errorf("answered after %s, budget %s", took, budget)
	}
	return err
}
