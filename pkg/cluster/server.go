package cluster

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Server is what the registry's server says of itself; what it does not say is
// empty.
type Server struct {
	Engine  string // redis or valkey
	Version string // of Redis; of a Valkey, of the Redis that it is compatible with
	Role    string // master or slave
	Evicts  string // maxmemory_policy: noeviction, allkeys-lru, volatile-lru, …
}

// Server asks the primary for what INFO tells by default. Some servers let only
// some users ask; the error is then theirs.
func (r *Registry) Server(ctx context.Context) (Server, error) {
	var text string
	err := r.read(ctx, func(p redis.Cmdable) (err error) {
		text, err = p.Info(ctx).Result()
		return err
	})
	if err != nil {
		return Server{}, fmt.Errorf("ask the registry's server: %w", err)
	}
	return parseServer(text), nil
}

// parseServer reads lines of the form name:value, as INFO writes them.
func parseServer(text string) Server {
	values := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			values[name] = value
		}
	}
	s := Server{Version: values["redis_version"], Role: values["role"], Evicts: values["maxmemory_policy"]}
	switch {
	case values["valkey_version"] != "":
		s.Engine = "valkey"
	case s.Version != "":
		s.Engine = "redis"
	}
	return s
}
