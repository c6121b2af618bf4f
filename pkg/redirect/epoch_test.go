package redirect

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestEveryAnswerTellsTheEpoch(t *testing.T) {
	s, r := nodes(well("b1", "blue", contexts("/shop"))), redirector()
	preflight := request("OPTIONS", "/", "Origin: https://page.example", "Access-Control-Request-Method: PUT")
	early := []*Request{get("/_health"), preflight, request("TRACE", "/")}
	for _, req := range early {
		assert.Empty(t, answer(r, req, s, now).Header.Get("X-Detour-Epoch"), "nothing is known yet")
	}
	for status, req := range map[int]*Request{
		307: get("/shop"), 404: get("/"), 503: get("/shop?detour=" + state(3, now)), 200: get("/_health?deep"), 414: get("/shop/" + strings.Repeat("x", maxLocation)),
	} {
		d := answer(r, req, s, now)
		require.Equal(t, status, d.Status)
		assert.Equal(t, "7", d.Header.Get("X-Detour-Epoch"), status)
	}
	s = nodes(well("b1", "blue", status(cluster.Faulty)))
	s.Epoch = 8
	assert.Equal(t, "8", answer(r, get("/"), s, now).Header.Get("X-Detour-Epoch"))
	for _, req := range early {
		assert.Equal(t, "8", answer(r, req, s, now).Header.Get("X-Detour-Epoch"), req.Method)
	}
}
