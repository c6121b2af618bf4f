package cluster

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/note.lua
var noteLua string

var noteScript = redis.NewScript(commonLua + noteLua)

// Note adds an event of what happened outside of the registry: its kind, as in
// "rule.moved", and what it happened to, by whom and why. The epoch stays.
// [ErrInvalid] comes back for an event without kind or target, [ErrFenced] when
// another sweeper than l's has taken over; a nil l is nobody's sweep.
func (r *Registry) Note(ctx context.Context, l *Lease, kind, target, by, reason string) error {
	fence := ""
	if l != nil {
		fence = strconv.FormatInt(l.Fence, 10)
	}
	if _, err := r.run(ctx, noteScript, fence, kind, target, by, reason); err != nil {
		return fmt.Errorf("note %s of %s: %w", kind, target, err)
	}
	return nil
}
