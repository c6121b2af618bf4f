package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	clusterTimeout = 30 * time.Second       // until a cluster has formed, or has failed over
	askTimeout     = 500 * time.Millisecond // of a member, which may be suspended
)

// memberLines make a cluster fail over within few seconds, and nothing else than
// fail over: no replica changes to another primary.
var memberLines = []string{
	"cluster-node-timeout 1000",
	"cluster-replica-validity-factor 0",
	"cluster-allow-replica-migration no",
}

// Cluster is a running Redis Cluster of several processes. Each member is a
// [Server] that may be killed, suspended and restarted by itself; a restarted one
// remembers the cluster, but no data. It belongs to one test and to one goroutine
// at a time.
type Cluster struct {
	Members []*Server // those that began as primaries first
	URL     string    // redis:// with cluster=true and every member's address

	t testing.TB
}

// StartCluster starts a cluster of so many primaries, three at least, which share
// the slots evenly, and so many replicas of each in turn. It returns once all
// members agree and the replicas have caught up, which takes 4 s. A primary that
// is lost is replaced after some 2 s. Any failure ends the test.
func StartCluster(t testing.TB, primaries, replicas int) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	seeds := url.Values{"cluster": {"true"}}
	for range primaries + replicas {
		s := Start(t, WithConfig(memberLines...), func(s *Server) { s.cluster, s.member = true, true })
		c.Members = append(c.Members, s)
		seeds.Add("addr", s.Addr)
	}
	c.URL = c.Members[0].URL + "?" + seeds.Encode()
	ctx, cancel := context.WithTimeout(context.Background(), clusterTimeout)
	defer cancel()
	if err := c.form(ctx, primaries); err != nil {
		t.Fatalf("redistest: form cluster: %v", err)
	}
	return c
}

// PrimaryOf returns the member that is the primary of key's slot, as all members
// see it that answer. That they do not agree ends the test.
func (c *Cluster) PrimaryOf(key string) *Server {
	c.t.Helper()
	primary, err := c.primaryOf(context.Background(), key)
	if err != nil {
		c.t.Fatalf("redistest: %v", err)
	}
	return primary
}

// AwaitFailover returns the primary of key's slot once it is another than old,
// and all members that answer take commands.
func (c *Cluster) AwaitFailover(key string, old *Server) *Server {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), clusterTimeout)
	defer cancel()
	var primary *Server
	err := until(ctx, func() (done bool, err error) {
		primary, err = c.primaryOf(ctx, key)
		return err == nil && primary != old, err
	})
	if err != nil {
		c.t.Fatalf("redistest: wait for failover: %v", err)
	}
	return primary
}

// primaryOf fails while members differ, or any that answers takes no commands.
func (c *Cluster) primaryOf(ctx context.Context, key string) (*Server, error) {
	named, last := "", errors.New("no member runs")
	for _, s := range c.Members {
		if !s.running() {
			continue
		}
		addr, err := s.primaryOf(ctx, key)
		switch {
		case isTimeout(err):
			last = err // it may be suspended
		case err != nil:
			return nil, err
		case named != "" && addr != named:
			return nil, fmt.Errorf("find primary of %s: members name %s and %s", key, named, addr)
		default:
			named = addr
		}
	}
	for _, s := range c.Members {
		if s.Addr == named {
			return s, nil
		}
	}
	return nil, fmt.Errorf("find primary of %s, named %q: %w", key, named, last)
}

func isTimeout(err error) bool {
	var late net.Error
	return errors.As(err, &late) && late.Timeout()
}

// primaryOf returns the address of key's primary as this member sees it.
func (s *Server) primaryOf(ctx context.Context, key string) (addr string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	client := s.client()
	defer client.Close()
	if err := clusterIs(ctx, client, "cluster_state:ok"); err != nil {
		return "", err
	}
	slot, err := client.ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return "", err
	}
	ranges, err := client.ClusterSlots(ctx).Result() //nolint:staticcheck // CLUSTER SHARDS is new in Redis 7
	if err != nil {
		return "", err
	}
	for _, r := range ranges {
		if r.Start <= int(slot) && int(slot) <= r.End && len(r.Nodes) > 0 {
			return r.Nodes[0].Addr, nil
		}
	}
	return "", fmt.Errorf("slot %d has no primary", slot)
}

// clusterIs returns nil if CLUSTER INFO holds line.
func clusterIs(ctx context.Context, client *redis.Client, line string) error {
	info, err := client.ClusterInfo(ctx).Result()
	if err != nil {
		return fmt.Errorf("ask for cluster state: %w", err)
	}
	if !strings.Contains(info, line+"\r") {
		return fmt.Errorf("cluster is not yet %s: %s", line, strings.ReplaceAll(info, "\r\n", " "))
	}
	return nil
}

// until asks until done or ctx ends.
func until(ctx context.Context, done func() (bool, error)) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, last := done()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), last)
		case <-tick.C:
		}
	}
}

// busAddress are the arguments by which CLUSTER MEET finds s.
func (s *Server) busAddress() []any {
	return []any{"127.0.0.1", strconv.Itoa(s.port), strconv.Itoa(s.busPort)}
}
