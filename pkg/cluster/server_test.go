package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/redistest"
)

func TestAServerTellsWhatItIs(t *testing.T) {
	client, err := Dial(redistest.Start(t).URL, time.Second)
	require.NoError(t, err)
	r, err := NewRegistry(client, "test")
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	s, err := r.Server(t.Context())
	require.NoError(t, err)
	assert.Contains(t, []string{"redis", "valkey"}, s.Engine)
	assert.Regexp(t, `^\d+\.\d+\.\d+`, s.Version)
	assert.Equal(t, "master", s.Role)
	assert.Equal(t, "noeviction", s.Evicts)
}

func TestWhatAServerDoesNotTellIsEmpty(t *testing.T) {
	assert.Equal(t, Server{}, parseServer("# Clients\r\nconnected_clients:1\r\n"))
	assert.Equal(t, Server{"valkey", "7.2.4", "slave", "allkeys-lru"},
		parseServer("# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\nrole:slave\r\nmaxmemory_policy:allkeys-lru"))
}

func FuzzParseServer(f *testing.F) {
	f.Add("role:master\r\nredis_version:7.0.0\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		s := parseServer(text)
		for _, v := range []string{s.Version, s.Role, s.Evicts} {
			assert.Contains(t, text, v)
		}
	})
}
