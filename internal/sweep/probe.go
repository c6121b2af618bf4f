package sweep

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

const (
	probeTimeout = 2 * time.Second
	probesAtOnce = 16
	headerLimit  = 64 << 10 // bytes of an answer that are read at most
)

// newProbes returns a client that takes the first answer for an answer: it
// follows no redirect, which could lead to a node that is well.
func newProbes(transport http.RoundTripper) *http.Client {
	if transport == nil {
		transport = &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: headerLimit}
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// outcome is that of one probe.
type outcome int

const (
	unasked outcome = iota // time was up before it could answer or fail
	answered
	failed
)

// probe asks nodes, a few at once, for at most half of the time that the sweep
// has. Those in neither list were not asked in time. In what order is left to
// chance, so that nodes that hang do not always keep the same others waiting.
func (s *Sweeper) probe(ctx context.Context, nodes []cluster.Node) (well, silent []cluster.Node) {
	has := s.config.LeaseTTL
	if deadline, ok := ctx.Deadline(); ok {
		has = min(has, time.Until(deadline))
	}
	ctx, cancel := context.WithTimeout(ctx, has/2)
	defer cancel()
	outcomes := make([]outcome, len(nodes))
	free := make(chan struct{}, probesAtOnce)
	var asking sync.WaitGroup
	for _, i := range rand.Perm(len(nodes)) {
		free <- struct{}{}
		asking.Go(func() {
			defer func() { <-free }()
			outcomes[i] = s.ask(ctx, nodes[i].Probe)
		})
	}
	asking.Wait()
	for i, o := range outcomes {
		switch o {
		case answered:
			well = append(well, nodes[i])
		case failed:
			silent = append(silent, nodes[i])
		case unasked:
		}
	}
	return well, silent
}

// ask gets url. Any 2xx is an answer; of its body nothing is read.
func (s *Sweeper) ask(ctx context.Context, url string) outcome {
	short, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(short, http.MethodGet, url, nil)
	if err != nil {
		return failed
	}
	req.Header.Set("User-Agent", "detour-probe")
	res, err := s.probes.Do(req)
	switch {
	case err != nil && ctx.Err() != nil:
		return unasked
	case err != nil:
		return failed
	}
	_ = res.Body.Close() // nothing of it is wanted
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return failed
	}
	return answered
}
