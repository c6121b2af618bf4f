package shop

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

// newNodes starts two nodes on an embedded registry.
func newNodes(t *testing.T) (registry *cluster.Registry, nodes [2]*Node) {
	t.Helper()
	client, err := cluster.Dial("redis://"+miniredis.RunT(t).Addr(), patience)
	require.NoError(t, err)
	registry, err = cluster.NewRegistry(client, "test")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, registry.Close()) })
	for i, id := range []string{"n1", "n2"} {
		n := &Node{ID: id, Group: "shop", Address: net.JoinHostPort([]string{"127.0.0.2", "127.0.0.3"}[i], "0"), Registry: registry, GateEvery: 10 * time.Millisecond}
		require.NoError(t, n.Start(t.Context(), 1))
		t.Cleanup(func() { assert.NoError(t, n.Stop(context.Background())) }) // t.Context() has ended by then
		nodes[i] = n
	}
	return registry, nodes
}

// send sends a request with that session, follows no redirect, and returns the answer.
func send(t *testing.T, method, url, session string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(within(t, patience), method, url, http.NoBody)
	require.NoError(t, err)
	if session != "" {
		r.AddCookie(&http.Cookie{Name: SessionCookie, Value: session})
	}
	r.Close = true
	res, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res
}

func TestANodeThatDrainsIsReadyAsLongAsItHasSessions(t *testing.T) {
	registry, nodes := newNodes(t)
	n := nodes[0]
	ready := func() int { return send(t, http.MethodGet, n.URL()+HealthPath, "").StatusCode }
	session := send(t, http.MethodPost, n.URL()+"/login", "").Cookies()[0].Value
	assert.Equal(t, http.StatusOK, ready())

	_, err := registry.Pause(t.Context(), cluster.NodeTarget("n1"), cluster.PauseRequest{Mode: cluster.Drain})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return send(t, http.MethodPost, n.URL()+"/login", "").StatusCode == http.StatusTemporaryRedirect
	}, patience, time.Millisecond)
	res := send(t, http.MethodPost, n.URL()+"/login", "")
	assert.Contains(t, res.Header.Get("Location"), nodes[1].URL()+"/login?detour=")
	assert.Equal(t, Life{}, lifeOf(res.Header), "the gate is not the shop")
	res = send(t, http.MethodGet, n.URL()+"/cart", session)
	assert.Equal(t, http.StatusOK, res.StatusCode)
	assert.Equal(t, Life{Node: "n1", Version: "1"}, lifeOf(res.Header))
	assert.Equal(t, http.StatusOK, ready(), "a session stays")

	left := n.Sessions()
	require.Positive(t, left)
	n.life.app.mu.Lock()
	clear(n.life.app.carts)
	n.life.app.mu.Unlock()
	assert.Equal(t, http.StatusServiceUnavailable, ready(), "nobody stays")
}

func TestANodeUnderRedirectIsNotReady(t *testing.T) {
	registry, nodes := newNodes(t)
	n := nodes[0]
	session := send(t, http.MethodPost, n.URL()+"/login", "").Cookies()[0].Value
	_, err := registry.Pause(t.Context(), cluster.NodeTarget("n1"), cluster.PauseRequest{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return send(t, http.MethodGet, n.URL()+HealthPath, "").StatusCode == http.StatusServiceUnavailable
	}, patience, time.Millisecond)
	require.Eventually(t, func() bool {
		return send(t, http.MethodGet, n.URL()+"/cart", session).StatusCode == http.StatusTemporaryRedirect
	}, patience, time.Millisecond)
}

func TestANodeComesBackEmptyAtTheSameAddress(t *testing.T) {
	registry, nodes := newNodes(t)
	n := nodes[0]
	address := n.Address
	session := send(t, http.MethodPost, n.URL()+"/login", "").Cookies()[0].Value
	assert.Equal(t, 1, n.Sessions())
	require.NoError(t, n.Stop(t.Context()))
	require.NoError(t, n.Stop(t.Context()), "a second time is harmless")
	assert.Zero(t, n.Sessions())
	s, err := registry.Snapshot(t.Context(), time.Now)
	require.NoError(t, err)
	_, there := s.Node("n1")
	assert.False(t, there)

	require.NoError(t, n.Start(t.Context(), 2))
	assert.Equal(t, address, n.Address)
	assert.Equal(t, Life{Node: "n1", Version: "2"}, n.Life())
	assert.Equal(t, http.StatusUnauthorized, send(t, http.MethodGet, n.URL()+"/cart", session).StatusCode)
	s, err = registry.Snapshot(t.Context(), time.Now)
	require.NoError(t, err)
	d, there := s.Node("n1")
	require.True(t, there)
	assert.Equal(t, []string{"n1"}, d.Routes)
	assert.Equal(t, "2", d.Version)
}

func TestASessionIsInTheFigures(t *testing.T) {
	registry, nodes := newNodes(t)
	send(t, http.MethodPost, nodes[0].URL()+"/login", "")
	require.Eventually(t, func() bool {
		s, err := registry.Snapshot(t.Context(), time.Now)
		require.NoError(t, err)
		n, ok := s.Node("n1")
		return ok && n.Figures != nil && n.Figures.Sessions == 1
	}, patience, 10*time.Millisecond)
}

func TestAnAddressThatIsTakenEndsTheStart(t *testing.T) {
	_, nodes := newNodes(t)
	n := &Node{ID: "n3", Address: nodes[0].Address}
	require.ErrorContains(t, n.Start(t.Context(), 1), "start n3: listen tcp "+n.Address)
	require.NoError(t, n.Stop(t.Context()))
}
