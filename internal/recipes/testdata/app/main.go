// Command app is an application as recipes run it. It listens on APP_LISTEN, asks
// the socket APP_GATE before each request, or guards itself with pkg/gate and
// reports to the socket APP_REPORT. On SIGTERM it ends at once, whatever it is
// doing. The file "version" beside it says what is deployed; "broken" is never well.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/detourhq/detour/internal/traffic"
	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/gate"
	"github.com/detourhq/detour/pkg/redirect"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "app:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	guarded, err := guard(ctx, http.HandlerFunc(work))
	if err != nil {
		return err
	}
	ending := make(chan error, 1)
	server := &http.Server{Addr: os.Getenv("APP_LISTEN"), Handler: health(guarded), ReadHeaderTimeout: time.Minute}
	go func() { ending <- server.ListenAndServe() }()
	select {
	case err := <-ending:
		return err
	case <-ctx.Done():
		return nil
	}
}

// health answers for the application itself, whatever the gate says.
func health(next http.Handler) http.Handler {
	version := "none"
	if program, err := os.Executable(); err == nil {
		text, _ := os.ReadFile(filepath.Join(filepath.Dir(program), "version"))
		version = strings.TrimSpace(string(text))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" {
			next.ServeHTTP(w, r)
			return
		}
		if version == "broken" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		fmt.Fprint(w, version)
	})
}

// guard has next guarded as the environment says.
func guard(ctx context.Context, next http.Handler) (http.Handler, error) {
	report := os.Getenv("APP_REPORT")
	if report == "" {
		return ask(os.Getenv("APP_GATE"), next), nil
	}
	client, err := cluster.Dial(os.Getenv("DETOUR_REDIS_URL"), 2*time.Second)
	if err != nil {
		return nil, err
	}
	registry, err := cluster.NewRegistry(client, "default")
	if err != nil {
		return nil, err
	}
	cache := cluster.NewCache(registry, cluster.CacheConfig{Budget: time.Second, StaleIfError: time.Minute}, time.Now)
	g := gate.New(gate.Config{
		Node: os.Getenv("POD_NAME"), Source: cache, Report: report, Redirect: redirect.Config{SessionCookie: "JSESSIONID"},
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	go g.Run(ctx)
	return g.Wrap(next), nil
}

// ask asks the gate at path before each request but health checks.
func ask(path string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == traffic.HealthPath {
			return
		}
		var dialer net.Dialer
		if conn, err := dialer.DialContext(r.Context(), "unix", path); err == nil { // else there is no agent, and nobody pauses this node
			defer conn.Close()
			if n, _ := conn.Read(make([]byte, 1)); n != 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// work answers as all nodes do, after a while: some requests are in flight when the
// application is told to end. One that says how long it lasts is answered with the
// header at once, so that the client knows that it has begun.
func work(w http.ResponseWriter, r *http.Request) {
	lasts, err := time.ParseDuration(r.URL.Query().Get("lasts"))
	if err == nil {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
	} else {
		lasts = 20 * time.Millisecond
	}
	time.Sleep(lasts)
	(&traffic.Node{ID: "app"}).ServeHTTP(w, r)
}
