// Command webapp is an application that a gate guards from within. On standard
// output it says each request that arrives, before the gate has its way with it, and
// that it was told to end, each with the time in ns since the Unix epoch. Having been
// told it goes on for a second, so that what comes too late is said as well.
//
// WEBAPP_ADDRESS is where it listens, WEBAPP_NODE its node's id, WEBAPP_REDIS the
// registry's URL, WEBAPP_CLUSTER the cluster, and WEBAPP_REPORT the agent's socket,
// empty where it is not to report.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/gate"
)

const (
	linger = time.Second
	probe  = "/ready"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	orders := make(chan os.Signal, 1)
	signal.Notify(orders, syscall.SIGTERM)
	client, err := cluster.Dial(os.Getenv("WEBAPP_REDIS"), 2*time.Second)
	if err != nil {
		return err
	}
	registry, err := cluster.NewRegistry(client, os.Getenv("WEBAPP_CLUSTER"))
	if err != nil {
		return err
	}
	cache := cluster.NewCache(registry, cluster.CacheConfig{Budget: time.Second, StaleIfError: 5 * time.Minute}, time.Now)
	g := gate.New(gate.Config{Node: os.Getenv("WEBAPP_NODE"), Source: cache, ProbePath: probe, Report: os.Getenv("WEBAPP_REPORT")})
	go g.Run(ctx)
	listener, err := net.Listen("tcp", os.Getenv("WEBAPP_ADDRESS"))
	if err != nil {
		return err
	}
	go func() { log.Print(http.Serve(listener, tell(g.Wrap(http.HandlerFunc(echo))))) }()
	<-orders
	fmt.Println("ordered", time.Now().UnixNano())
	time.Sleep(linger)
	return nil
}

// tell says each request that arrives, health checks and probes apart.
func tell(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/_health" && r.URL.Path != probe {
			fmt.Println("arrived", time.Now().UnixNano())
		}
		next.ServeHTTP(w, r)
	})
}

func echo(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) }
