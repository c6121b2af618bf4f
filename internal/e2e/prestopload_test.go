package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"
)

// fetch gets url by a client that follows redirects, and wants of the answer that it
// is a 200 with the body that is right.
func fetch(ctx context.Context, client *http.Client, url string, right func(body string) bool) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return fmt.Errorf("read answer: %w", err)
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("status %d from %s", resp.StatusCode, resp.Request.URL)
	case !right(string(body)):
		return fmt.Errorf("wrong body from %s: %q", resp.Request.URL, body)
	}
	return nil
}

// stream is a load of many clients: GETs of so many paths, whose answer is the path.
type stream struct {
	base   string
	client *http.Client
	cancel context.CancelFunc
	pacing sync.WaitGroup
	sent   int // to be read after stop

	mu     sync.Mutex // guards the following
	failed map[string]error
}

// mostUnderWay is how many requests of a stream are under way at most: a machine that
// does not keep up sends late.
const mostUnderWay = 128

// startStream sends rate requests per second to base, whether or not earlier ones
// have been answered.
func startStream(t *testing.T, base string, rate int) *stream {
	t.Helper()
	s := &stream{base: base, failed: make(map[string]error)}
	s.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: mostUnderWay}, Timeout: patience}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.pacing.Go(func() { s.pace(ctx, rate) })
	t.Cleanup(s.stop)
	return s
}

// pace sends what is due by the clock until ctx ends.
func (s *stream) pace(ctx context.Context, rate int) {
	const beat = 5 * time.Millisecond
	ticks := time.NewTicker(beat)
	defer ticks.Stop()
	places := make(chan struct{}, mostUnderWay)
	for began := time.Now(); ; {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
		for due := int(time.Since(began).Seconds() * float64(rate)); s.sent < due && ctx.Err() == nil; s.sent++ {
			places <- struct{}{} // each request ends in time
			path := "/items/" + strconv.Itoa(s.sent)
			s.pacing.Go(func() {
				defer func() { <-places }()
				s.send(context.WithoutCancel(ctx), path)
			})
		}
	}
}

func (s *stream) send(ctx context.Context, path string) {
	err := fetch(ctx, s.client, s.base+path, func(body string) bool { return body == path })
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failed[path] = err
	}
}

// stop sends no more, and returns when all that was sent has ended.
func (s *stream) stop() {
	s.cancel()
	s.pacing.Wait()
	s.client.CloseIdleConnections()
}
