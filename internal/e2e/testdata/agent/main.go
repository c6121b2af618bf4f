// Command agent keeps one node in a registry until it is killed: AGENT_REDIS is
// the registry's URL, AGENT_CLUSTER the cluster, AGENT_NODE the node's id.
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/detourhq/detour/internal/agent"
	"github.com/detourhq/detour/pkg/cluster"
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := run(context.Background(), log); err != nil {
		log.Error("agent ends", "err", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, log *slog.Logger) error {
	client, err := cluster.Dial(os.Getenv("AGENT_REDIS"), 2*time.Second)
	if err != nil {
		return err
	}
	registry, err := cluster.NewRegistry(client, os.Getenv("AGENT_CLUSTER"))
	if err != nil {
		return errors.Join(err, client.Close())
	}
	defer registry.Close()
	id := os.Getenv("AGENT_NODE")
	a := agent.New(registry, agent.Config{
		Descriptor: cluster.Descriptor{ID: id, Group: "green", Endpoint: "http://" + id + ".example.com", Weight: cluster.DefaultWeight},
		PulseEvery: 200 * time.Millisecond,
		Log:        log,
	})
	if err := a.Start(ctx); err != nil {
		return err
	}
	return a.Run(ctx)
}
