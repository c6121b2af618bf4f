package gate

import (
	"context"
	"sync"
	"time"

	"github.com/detourhq/detour/pkg/redirect"
)

// room is where requests wait. It has most places, and each for one source.
type room struct {
	most, each int

	mu      sync.Mutex // guards the following
	held    int
	sources map[string]int // how many of them wait; none is zero
}

func (r *room) enter(source string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held >= r.most || r.sources[source] >= r.each {
		return false
	}
	if r.sources == nil {
		r.sources = make(map[string]int)
	}
	r.held++
	r.sources[source]++
	return true
}

func (r *room) leave(source string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held--
	if r.sources[source]--; r.sources[source] == 0 {
		delete(r.sources, source)
	}
}

// fullness returns which part of the room is taken.
func (r *room) fullness() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return float64(r.held) / float64(r.most)
}

// await returns the verdict on req once there is nothing left to wait for, or
// patience ends. A request that finds no place does not wait.
func (g *Gate) await(ctx context.Context, req *redirect.Request) verdict {
	v := g.judge(req)
	if !v.wait {
		return v
	}
	source := req.Client()
	if !g.room.enter(source) {
		return v
	}
	defer g.room.leave(source)
	ctx, cancel := context.WithTimeout(ctx, v.patience)
	defer cancel()
	for v.wait && ctx.Err() == nil {
		select {
		case <-v.state.done:
		case <-ctx.Done():
		}
		if v = g.judge(req); !v.wait {
			g.spread(ctx)
			v = g.judge(req)
		}
	}
	return v
}

// spread lets a request that may go wait for its share of a quarter of HoldMax, so
// that all who waited do not fall upon the node, or its peers, at once. The fewer
// there are, the shorter it is.
func (g *Gate) spread(ctx context.Context) {
	share := g.room.fullness() * float64(g.config.Random.Uint64()>>11) * 0x1p-53
	timer := time.NewTimer(time.Duration(share * float64(g.config.HoldMax/4)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
