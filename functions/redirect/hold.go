package main

import (
	"context"
	"crypto/rand"
	"hash/fnv"
	mathrand "math/rand/v2"
	"strconv"
	"time"

	"github.com/detourhq/detour/internal/config"
	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/redirect"
)

// places are those of the requests that all functions hold together.
type places interface {
	Hold(ctx context.Context, now cluster.Millis, p cluster.Place, most, each int) (bool, error)
	Release(ctx context.Context, p cluster.Place) error
}

const (
	// lookEvery is how often a held request looks whether times are better. A look
	// costs one round trip. A subscription would tell at once, but may be lost
	// without a word when the registry fails over.
	lookEvery = 100 * time.Millisecond
	// answerRoom is what the end of a hold leaves to the function, to answer before
	// its deadline.
	answerRoom = 500 * time.Millisecond
	// releaseLimit bounds the giving back of a place, for which the client waits. A
	// place that is not given back ends by itself.
	releaseLimit = 100 * time.Millisecond
)

// patience is how requests are held.
type patience struct {
	config.Patience
	places places        // nil holds none
	budget time.Duration // for one question to the registry
}

// wait holds the request while the decision d on it, made at now, may still become
// a better one, and returns the last decision. A request that finds no place free
// is not held.
func (h *handler) wait(ctx context.Context, req *redirect.Request, d redirect.Decision, now cluster.Millis) redirect.Decision {
	most := h.patience.HoldMax
	if end, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(end)-answerRoom)
	}
	if h.patience.places == nil || most <= 0 {
		return d
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	release, ok := h.takePlace(ctx, req, now, most)
	if !ok {
		return d
	}
	defer release()
	h.source.Count(now, "held", "origin:"+d.Origin)
	return h.watch(ctx, req, d)
}

// takePlace takes one of the places for most at now; release gives it back.
func (h *handler) takePlace(ctx context.Context, req *redirect.Request, now cluster.Millis, most time.Duration) (release func(), ok bool) {
	p := cluster.Place{Source: sourceOf(req), ID: rand.Text(), Until: now.Add(most + answerRoom)}
	limited, cancel := context.WithTimeout(ctx, h.patience.budget)
	defer cancel()
	ok, err := h.patience.places.Hold(limited, now, p, h.patience.HoldLimit, h.patience.HoldPerSource)
	switch {
	case err != nil:
		h.log.WarnContext(ctx, "place of a held request cannot be taken, answering at once", "err", err)
		return nil, false
	case !ok:
		h.log.WarnContext(ctx, "as many requests are held as may be, answering at once", "client", req.Client())
		return nil, false
	}
	return func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(h.patience.budget, releaseLimit))
		defer cancel()
		if err := h.patience.places.Release(limited, p); err != nil {
			h.log.WarnContext(ctx, "place of a held request cannot be given back, it ends by itself", "err", err)
		}
	}, true
}

// sourceOf names the client without telling its address to whoever reads the
// registry.
func sourceOf(req *redirect.Request) string {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(req.Client())) // never fails
	return strconv.FormatUint(hash.Sum64(), 36)
}

// watch looks at the registry until the decision need not wait or ctx ends. What
// all wait for is not to be met by all at once: each goes after a while of its
// own, if times are still better then.
func (h *handler) watch(ctx context.Context, req *redirect.Request, d redirect.Decision) redirect.Decision {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return d
		case <-tick.C:
		}
		if d = h.again(ctx, req, d); d.Hold {
			continue
		}
		select {
		case <-ctx.Done():
			return d
		case <-time.After(h.turn(ctx)):
		}
		if d = h.again(ctx, req, d); !d.Hold {
			return d
		}
	}
}

// turn draws how long a request waits for its turn: at most a quarter of the
// longest hold, and less where the rest of its own is shorter.
func (h *handler) turn(ctx context.Context) time.Duration {
	most := h.patience.HoldMax / 4
	if end, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(end))
	}
	return mathrand.N(max(most, 1))
}

// again decides anew. While the registry fails, d stands.
func (h *handler) again(ctx context.Context, req *redirect.Request, d redirect.Decision) redirect.Decision {
	s, _, err := h.source.Snapshot(ctx)
	if err != nil {
		return d
	}
	now, _ := s.Now(h.wall())
	return h.redirect.Decide(req, s, now)
}
