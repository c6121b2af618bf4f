package traffic

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const (
	clientCount    = 8
	maxInFlight    = 128 // of all clients; on a machine that cannot keep up, requests beyond are sent late
	requestTimeout = 15 * time.Second
	burstEvery     = 5 * time.Millisecond
	idleTimeout    = 30 * time.Second // less than the load balancer's, so that no request meets a closed connection
)

// Load sends requests at a steady rate, whether or not earlier ones have been
// answered, and keeps the tally.
type Load struct {
	url   string
	rate  int
	tally *Tally
	phase func() string

	source  *source
	clients []*http.Client
	slots   chan struct{}
	sending sync.WaitGroup
}

// NewLoad returns a load of rate requests per second on url. Each is for one of
// groups, by the first segment of its path. What becomes of it is counted in t, in
// the phase that phase tells by then.
func NewLoad(url string, rate int, groups []string, t *Tally, phase func() string) *Load {
	l := &Load{url: url, rate: rate, tally: t, phase: phase, source: newSource(1, groups), slots: make(chan struct{}, maxInFlight)}
	for range clientCount {
		l.clients = append(l.clients, &http.Client{
			Transport: &http.Transport{MaxIdleConnsPerHost: maxInFlight / clientCount, IdleConnTimeout: idleTimeout},
			Timeout:   requestTimeout,
		})
	}
	return l
}

// Run sends until stop is closed, and returns when all that was sent has ended.
// When ctx ends, what is under way is given up and not counted.
func (l *Load) Run(ctx context.Context, stop <-chan struct{}) {
	l.pace(ctx, stop)
	l.sending.Wait()
	for _, c := range l.clients {
		c.CloseIdleConnections()
	}
}

// pace sends whatever is due by the clock. What a busy machine makes late is
// caught up, so that the rate holds.
func (l *Load) pace(ctx context.Context, stop <-chan struct{}) {
	tick := time.NewTicker(burstEvery)
	defer tick.Stop()
	began := time.Now()
	for sent := 0; ; {
		for due := int(time.Since(began).Seconds() * float64(l.rate)); sent < due; sent++ {
			select {
			case l.slots <- struct{}{}:
			case <-stop:
				return
			case <-ctx.Done():
				return
			}
			l.send(ctx, l.source.next(), l.clients[sent%len(l.clients)])
		}
		select {
		case <-tick.C:
		case <-stop:
			return
		case <-ctx.Done():
			return
		}
	}
}

// send sends r without waiting for the answer.
func (l *Load) send(ctx context.Context, r request, client *http.Client) {
	l.sending.Go(func() {
		defer func() { <-l.slots }()
		o := r.send(ctx, client, l.url)
		if ctx.Err() == nil {
			l.tally.add(o, time.Now(), l.phase())
		}
	})
}
