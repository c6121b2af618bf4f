package redistest

import (
	"context"
	"fmt"
	"strings"
)

// slots is how many hash slots a cluster has.
const slots = 16384

// form makes the members one cluster in which the first of them are primaries.
func (c *Cluster) form(ctx context.Context, primaries int) error {
	for i, s := range c.Members {
		if err := s.introduce(ctx, c.Members[0], i+1); err != nil {
			return err
		}
		if i < primaries {
			if err := s.take(ctx, i*slots/primaries, (i+1)*slots/primaries-1); err != nil {
				return err
			}
		}
	}
	for _, s := range c.Members {
		if err := s.awaitCluster(ctx, fmt.Sprintf("cluster_known_nodes:%d", len(c.Members))); err != nil {
			return err
		}
	}
	for i, s := range c.Members[primaries:] {
		if err := s.replicate(ctx, c.Members[i%primaries]); err != nil {
			return err
		}
	}
	for _, s := range c.Members {
		if err := c.settled(ctx, s, primaries); err != nil {
			return err
		}
	}
	return nil
}

// introduce makes s and first know each other. Each member begins with an epoch
// of its own: those that share one have to settle it first.
func (s *Server) introduce(ctx context.Context, first *Server, epoch int) error {
	client := s.client()
	defer client.Close()
	if err := client.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", epoch).Err(); err != nil {
		return fmt.Errorf("set epoch: %w", err)
	}
	if s == first {
		return nil
	}
	if err := client.Do(ctx, append([]any{"CLUSTER", "MEET"}, first.busAddress()...)...).Err(); err != nil {
		return fmt.Errorf("meet: %w", err)
	}
	return nil
}

func (s *Server) take(ctx context.Context, first, last int) error {
	client := s.client()
	defer client.Close()
	if err := client.ClusterAddSlotsRange(ctx, first, last).Err(); err != nil {
		return fmt.Errorf("assign slots: %w", err)
	}
	return nil
}

func (s *Server) awaitCluster(ctx context.Context, line string) error {
	client := s.client()
	defer client.Close()
	return s.poll(ctx, func() (bool, error) {
		err := clusterIs(ctx, client, line)
		return err == nil, err
	})
}

// replicate makes s a replica of primary within their cluster, and waits until it
// has caught up.
func (s *Server) replicate(ctx context.Context, primary *Server) error {
	ask := primary.client()
	defer ask.Close()
	id, err := ask.ClusterMyID(ctx).Result()
	if err != nil {
		return fmt.Errorf("ask for the primary's id: %w", err)
	}
	client := s.client()
	defer client.Close()
	err = s.poll(ctx, func() (bool, error) { // refused until s knows what primary is
		err := client.ClusterReplicate(ctx, id).Err()
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("replicate: %w", err)
	}
	return s.awaitLink(ctx)
}

// settled waits until s sees a cluster that is whole, every replica included.
func (c *Cluster) settled(ctx context.Context, s *Server, primaries int) error {
	if err := s.awaitCluster(ctx, "cluster_state:ok"); err != nil {
		return err
	}
	client := s.client()
	defer client.Close()
	return s.poll(ctx, func() (bool, error) {
		nodes, err := client.ClusterNodes(ctx).Result()
		replicas := strings.Count(nodes, "slave ")
		return err == nil && replicas == len(c.Members)-primaries, err
	})
}
