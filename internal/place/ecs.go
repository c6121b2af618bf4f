package place

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// taskLimit is more than the ECS agent says of any task: 10 containers at most,
// a few KB each.
const taskLimit = 1 << 20

// retryAfter is the wait before the ECS agent, which is known to be there, is asked
// again. While a container is being made its network is unknown, and the answer an
// error or without it (aws/amazon-ecs-agent#2643, aws/amazon-ecs-agent#2747).
const retryAfter = 100 * time.Millisecond

var errIncomplete = errors.New("answer names no task with a network")

// metadata is what counts of the answer to ${ECS_CONTAINER_METADATA_URI_V4}/task
// (Amazon ECS Developer Guide, "Amazon ECS task metadata V4 JSON response").
type metadata struct {
	TaskARN    string
	Containers []struct {
		Networks []struct {
			NetworkMode   string
			IPv4Addresses []string
			IPv6Addresses []string
		}
	}
}

// task asks the ECS agent until it tells all, but no longer than askLimit. With an
// error it returns what it knows.
func task(ctx context.Context, client *http.Client, uri string) (found Place, err error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	for {
		var m metadata
		if m, err = askTask(ctx, client, uri); err == nil {
			found = Place{Target: m.address(), Task: m.TaskARN}
			if m.complete() {
				return found, nil
			}
			err = errIncomplete
		}
		timer := time.NewTimer(retryAfter)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return found, fmt.Errorf("ask ECS for this task: %w", err)
		}
	}
}

func askTask(ctx context.Context, client *http.Client, uri string) (m metadata, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(uri, "/")+"/task", nil)
	if err != nil {
		return m, fmt.Errorf("make request: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return m, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return m, fmt.Errorf("answer %s", resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, taskLimit)).Decode(&m); err != nil {
		return m, fmt.Errorf("read answer: %w", err)
	}
	return m, nil
}

func (m metadata) complete() bool {
	for _, c := range m.Containers {
		if len(c.Networks) > 0 {
			return m.TaskARN != ""
		}
	}
	return false
}

// address returns the IP address that the task's containers share in network mode
// awsvpc, the only mode in which a task is a target by its own address; empty in
// every other one.
func (m metadata) address() string {
	for _, c := range m.Containers {
		for _, n := range c.Networks {
			if n.NetworkMode != "awsvpc" {
				continue
			}
			for _, ip := range append(n.IPv4Addresses, n.IPv6Addresses...) {
				if ip != "" {
					return ip
				}
			}
		}
	}
	return ""
}
