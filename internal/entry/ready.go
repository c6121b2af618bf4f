package entry

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// probeEvery is how often an application that starts is asked, probeLimit how long
// one answer may take.
const (
	probeEvery = 200 * time.Millisecond
	probeLimit = 2 * time.Second
)

// Answering returns a wait until url answers 2xx, at most for limit unless that is
// zero. Redirects are no such answer. The error, when ctx did not end, says what
// came last.
func Answering(client *http.Client, url string, limit time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		expired := make(<-chan time.Time)
		if limit > 0 {
			timer := time.NewTimer(limit)
			defer timer.Stop()
			expired = timer.C
		}
		for {
			err := probe(ctx, client, url)
			if err == nil {
				return nil
			}
			pause := time.NewTimer(probeEvery)
			select {
			case <-pause.C:
			case <-expired:
				pause.Stop()
				return fmt.Errorf("not ready within %s: %w", limit, err)
			case <-ctx.Done():
				pause.Stop()
				return ctx.Err()
			}
		}
	}
}

// Answers returns a probe of url: nil if it answers 2xx in time.
func Answers(client *http.Client, url string) func(context.Context) error {
	return func(ctx context.Context) error { return probe(ctx, client, url) }
}

func probe(ctx context.Context, client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("make probe: %w", err)
	}
	req.Header.Set("User-Agent", "detour-probe") // as the heartbeat's probes: gates do not count it
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("probe %s: answer %s", url, resp.Status)
	}
	return nil
}
