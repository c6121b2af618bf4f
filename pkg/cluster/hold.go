package cluster

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/hold.lua
var holdLua string

// holdScript declares its one key alone: whoever may only hold requests may run it.
var holdScript = redis.NewScript(holdLua)

// Place is that of one request that waits for better times.
type Place struct {
	Source string // who sends it; without '/'
	ID     string // of the request, not used before; without '/'
	Until  Millis // when the place is free again by itself
}

func (p Place) member() string { return p.Source + "/" + p.ID }

// Hold takes p among the requests held by all functions at now, the registry's
// time. ok is false if most are held already, or each of p's source.
func (r *Registry) Hold(ctx context.Context, now Millis, p Place, most, each int) (ok bool, err error) {
	n, err := holdScript.Run(ctx, r.client, []string{r.keys.holds}, int64(now), int64(p.Until), p.Source, p.ID, most, each).Int()
	if err != nil {
		return false, fmt.Errorf("hold a request: %w", err)
	}
	return n == 1, nil
}

// Release gives p back. What was given back already is no error.
func (r *Registry) Release(ctx context.Context, p Place) error {
	if err := r.client.ZRem(ctx, r.keys.holds, p.member()).Err(); err != nil {
		return fmt.Errorf("release a held request: %w", err)
	}
	return nil
}
