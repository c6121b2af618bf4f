package shop

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const (
	maxCustomers = 2000 // at once; on a machine that cannot keep up, more come late
	burstEvery   = 5 * time.Millisecond
	idleTimeout  = 30 * time.Second // less than the load balancer's, so that no request meets a closed connection
)

// Load has customers come to the shop all the time.
type Load struct {
	URL   string // of the shop's front door
	Rate  int    // requests per second of all customers, on average
	Think time.Duration
	Tally *Tally
	Phase func() string // of the deployment, for failures
}

// Run lets customers in until stop is closed, and returns when each has got the answer
// that it waits for. What is under way when ctx ends is given up, and not counted.
func (l *Load) Run(ctx context.Context, stop <-chan struct{}) {
	transport := &http.Transport{MaxIdleConnsPerHost: 128, IdleConnTimeout: idleTimeout}
	defer transport.CloseIdleConnections()
	var visiting sync.WaitGroup
	defer visiting.Wait()
	slots := make(chan struct{}, maxCustomers)
	tick := time.NewTicker(burstEvery)
	defer tick.Stop()
	began := time.Now()
	for came := 0; ; {
		for due := int(time.Since(began).Seconds() * float64(l.Rate) / meanRequests); came < due; came++ {
			select {
			case slots <- struct{}{}:
			case <-stop:
				return
			case <-ctx.Done():
				return
			}
			visiting.Go(func() {
				defer func() { <-slots }()
				newCustomer(transport, l.URL, l.Tally, l.Phase, l.Think).visit(ctx, stop)
			})
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
