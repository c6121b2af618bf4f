package redistest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// start starts the process on the chosen port and waits until it serves.
func (s *Server) start() error {
	if err := os.WriteFile(s.path("redis.conf"), []byte(s.config()), 0o600); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	cmd := exec.Command(s.program, s.path("redis.conf")) //nolint:noctx // lives until Kill, beyond the test's context
	if err := s.starter.Start(cmd); err != nil {
		return fmt.Errorf("start process: %w", err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(exited)
	}()
	s.cmd, s.exited = cmd, exited

	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	client := s.client()
	defer client.Close()
	if err := s.poll(ctx, func() (bool, error) { return s.ready(ctx, client) }); err != nil {
		return err
	}
	if s.cluster && !s.member {
		return s.formCluster(ctx, client)
	}
	return nil
}

// config returns the text of redis.conf. Later lines win, so the test's own
// are last.
func (s *Server) config() string {
	lines := []string{
		"bind 127.0.0.1",
		"dir " + s.dir,
		"logfile " + s.path("redis.log"),
		`save ""`,
		"appendonly no",
		"repl-diskless-sync-delay 0", // a replica waits for no other one
	}
	if s.authority != nil {
		lines = append(lines,
			"port 0",
			fmt.Sprintf("tls-port %d", s.port),
			"tls-ca-cert-file "+s.path(caFile),
			"tls-cert-file "+s.path(certFile),
			"tls-key-file "+s.path(keyFile),
			"tls-auth-clients no",
		)
	} else {
		lines = append(lines, fmt.Sprintf("port %d", s.port))
	}
	if s.cluster {
		lines = append(lines, "cluster-enabled yes", fmt.Sprintf("cluster-port %d", s.busPort))
		if s.authority != nil {
			lines = append(lines, "tls-cluster yes")
		}
	}
	return strings.Join(append(lines, s.lines...), "\n") + "\n"
}

// client returns a client that gives up soon, because poll asks again, and takes
// any certificate.
func (s *Server) client() *redis.Client {
	var trusting *tls.Config
	if s.TLS != nil {
		trusting = s.TLS.Clone()
		trusting.InsecureSkipVerify = true
	}
	return redis.NewClient(&redis.Options{
		Addr:                     s.Addr,
		TLSConfig:                trusting,
		DialerRetries:            1,
		MaxRetries:               -1,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// ready tells whether it is this server's process that answers, and has loaded
// its data. One that wants a password is taken at its word.
func (s *Server) ready(ctx context.Context, client *redis.Client) (bool, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		return false, err // before go-redis logs it
	}
	_ = conn.Close()
	info, err := client.Info(ctx, "server").Result()
	if redis.HasErrorPrefix(err, "NOAUTH") {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if !strings.Contains(info, fmt.Sprintf("process_id:%d\r", s.cmd.Process.Pid)) {
		return false, errors.New("another server has the port")
	}
	err = client.Ping(ctx).Err()
	return err == nil, err
}

// formCluster gives the server all slots, unless it remembers them.
func (s *Server) formCluster(ctx context.Context, client *redis.Client) error {
	info, err := client.ClusterInfo(ctx).Result()
	if err != nil {
		return fmt.Errorf("ask for cluster state: %w", err)
	}
	if strings.Contains(info, "cluster_slots_assigned:0\r") {
		if err := client.ClusterAddSlotsRange(ctx, 0, 16383).Err(); err != nil {
			return fmt.Errorf("assign cluster slots: %w", err)
		}
	}
	return s.poll(ctx, func() (bool, error) {
		info, err := client.ClusterInfo(ctx).Result()
		return strings.Contains(info, "cluster_state:ok"), err
	})
}

// poll asks until done, the process ends or ctx does.
func (s *Server) poll(ctx context.Context, done func() (bool, error)) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, last := done()
		if ok {
			return nil
		}
		select {
		case <-s.exited:
			return errors.New("the process ended")
		case <-ctx.Done():
			return fmt.Errorf("no answer within %s: %w", startTimeout, errors.Join(ctx.Err(), last))
		case <-tick.C:
		}
	}
}

// log returns the end of the server's log, for a failure's message.
func (s *Server) log() string {
	raw, err := os.ReadFile(s.path("redis.log"))
	if err != nil {
		return ""
	}
	const most = 2000
	return string(raw[max(0, len(raw)-most):])
}
