package command

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/internal/config"
)

func TestWhereTheRegistryIs(t *testing.T) {
	for url, local := range map[string]bool{
		"redis://127.0.0.1:6379": true, "redis://localhost": true, "redis://localhost:7000/0": true, "redis://u:p@[::1]:6379/0?cluster=true": true,
		"redis://127.0.0.9": true, "redis://:6379": true, "redis://": true,
		"redis://10.0.0.1:6379": false, "rediss://cache.example.com:6379": false, "redis://a:1,127.0.0.1:2?cluster=true": false,
		"redis://localhost:x@cache.example.com": false, "redis://[2001:db8::1]": false, "redis://cache.example.com?addr=127.0.0.1:1": false,
	} {
		assert.Equal(t, local, isLocal(url), url)
	}
	assert.True(t, DoctorConfig(config.Heartbeat{Registry: config.Registry{URL: "rediss://cache.example.com"}}).TLS)
	assert.False(t, DoctorConfig(config.Heartbeat{Registry: config.Registry{URL: "redis://cache.example.com"}}).TLS)
}
