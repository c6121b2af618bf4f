package main

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/internal/command"
)

func TestStatusTellsWhatCannotBeRead(t *testing.T) {
	server := miniredis.RunT(t)
	s := shell{t, map[string]string{"DETOUR_REDIS_URL": "redis://" + server.Addr()}}
	s.register("n1", "blue")
	server.HSet("{detour:default}:nodes", "a\x1b[31m", "{")
	server.HSet("{detour:default}:pauses", "planet:earth", "{}")

	status := object[command.Status](s, "status")
	assert.Len(t, status.Groups, 1)
	var where []string
	for _, b := range status.Broken {
		where = append(where, b.Key+" "+b.Field)
		assert.NotEmpty(t, b.Error)
	}
	assert.Equal(t, []string{"nodes a\x1b[31m", "pauses planet:earth"}, where)

	code, stdout, stderr := s.call("status")
	assert.Equal(t, done, code)
	assert.Contains(t, stdout, "n1")
	assert.Contains(t, stderr, `warning: nodes "a\x1b[31m" cannot be read: `, "and no terminal obeys it")
	assert.Contains(t, stderr, `warning: pauses "planet:earth" cannot be read: `)
}
