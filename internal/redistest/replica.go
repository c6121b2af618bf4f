package redistest

import (
	"context"
	"strings"
	"time"
)

const linkTimeout = 20 * time.Second // until a replica has caught up

// Follow makes the server a replica of primary and returns once it has caught up.
// It loses what it holds.
func (s *Server) Follow(primary *Server) {
	s.t.Helper()
	s.command("demote", "REPLICAOF", "127.0.0.1", primary.port)
	ctx, cancel := context.WithTimeout(context.Background(), linkTimeout)
	defer cancel()
	if err := s.awaitLink(ctx); err != nil {
		s.t.Fatalf("redistest: replicate: %v\n%s", err, s.log())
	}
}

// DemoteToNobody makes the server a replica of a primary that cannot be reached:
// it goes on answering with what it holds, and takes no writes.
func (s *Server) DemoteToNobody() {
	s.t.Helper()
	s.command("demote", "REPLICAOF", "127.0.0.1", 1)
}

// Promote makes the server a primary with what it holds.
func (s *Server) Promote() {
	s.t.Helper()
	s.command("promote", "REPLICAOF", "NO", "ONE")
}

// DropClients closes every client's connection, as Sentinel does at a failover
// and servers do with idle ones. Replicas stay.
func (s *Server) DropClients() {
	s.t.Helper()
	s.command("drop clients of", "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
}

func (s *Server) command(verb string, args ...any) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	client := s.client()
	defer client.Close()
	if err := client.Do(ctx, args...).Err(); err != nil {
		s.t.Fatalf("redistest: %s redis-server: %v", verb, err)
	}
}

// awaitLink waits until the replica s has all that its primary has.
func (s *Server) awaitLink(ctx context.Context) error {
	client := s.client()
	defer client.Close()
	return s.poll(ctx, func() (bool, error) {
		info, err := client.Info(ctx, "replication").Result()
		return strings.Contains(info, "master_link_status:up"), err
	})
}
