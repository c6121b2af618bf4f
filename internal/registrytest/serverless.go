package registrytest

import (
	"bufio"
	"context"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/detourhq/detour/internal/redistest"
)

// Serverless is a cluster of one node behind a proxy that refuses what
// ElastiCache Serverless refuses (AWS, "Supported and restricted commands", and
// public reports: django/channels_redis#379, taskforcesh/bullmq#2787,
// cristipufu/aspnetcore-redis-rate-limiting#154, rq/rq#2125), and some more that
// servers differ in. Its limits: it speaks no TLS, and takes keys that a script
// did not declare.
type Serverless struct {
	URL    string // as cluster.Dial takes it, through the proxy
	Server *redistest.Server

	mu      sync.Mutex // guards the following
	sent    []string
	refused []string
}

// forbidden are the commands that the proxy refuses, whatever their arguments.
var forbidden = []string{
	"CLIENT", "CONFIG", "KEYS", "SCAN", "SELECT", "MOVE", "SWAPDB", "MONITOR", "DEBUG", "MODULE", "ACL", "SAVE", "BGSAVE",
	"MULTI", "EXEC", "DISCARD", "WATCH", "FUNCTION", "FCALL", "FCALL_RO", "MEMORY", "COMMAND", "INFO", "READONLY",
}

// clockInScript finds a script that asks for what scripts may not.
var clockInScript = regexp.MustCompile(`(?i)redis\.p?call\(\s*['"](TIME|KEYS|SCAN|CONFIG|CLIENT|MEMORY)['"]`)

// StartServerless starts both; they end with the test.
func StartServerless(t testing.TB) *Serverless {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("registrytest: %v", err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	s := &Serverless{URL: "redis://" + listener.Addr().String() + "?cluster=true"}
	s.Server = redistest.Start(t, redistest.WithCluster(), redistest.WithConfig("cluster-announce-port "+strconv.Itoa(port)))
	ctx, cancel := context.WithCancel(context.Background())
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { s.serve(ctx, client) })
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		conns.Wait()
	})
	return s
}

// serve carries one connection's commands to the server, and answers back.
func (s *Serverless) serve(ctx context.Context, client net.Conn) {
	defer client.Close()
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Server.Addr)
	if err != nil {
		return
	}
	defer server.Close()
	stop := context.AfterFunc(ctx, func() {
		_ = client.Close()
		_ = server.Close()
	})
	defer stop()
	go func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	}()
	in := bufio.NewReader(client)
	for {
		words, err := readCommand(in)
		if err != nil || len(words) == 0 {
			return
		}
		if _, err := server.Write(s.pass(words)); err != nil {
			return
		}
	}
}

// pass notes a command and returns what the server gets. In place of one that is
// refused that is a command which no server knows: so its error comes in turn.
func (s *Serverless) pass(words []string) []byte {
	name := strings.ToUpper(words[0])
	if name == "CLUSTER" && len(words) > 1 {
		name += " " + strings.ToUpper(words[1])
	}
	why := refusal(name, words)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, name)
	if why == "" {
		return appendCommand(nil, words...)
	}
	s.refused = append(s.refused, name+": "+why)
	return appendCommand(nil, "REFUSED-"+name)
}

func refusal(name string, words []string) string {
	switch {
	case slices.Contains(forbidden, name):
		return "restricted"
	case name != "EVAL" && name != "EVALSHA":
		return ""
	case len(words) < 3 || words[2] == "0":
		return "script without keys"
	case clockInScript.MatchString(words[1]):
		return "not allowed from script"
	}
	return ""
}

// Sent returns the names of the commands sent since the last call, in order.
func (s *Serverless) Sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent
	s.sent = nil
	return sent
}

// Refused returns the commands that were refused, and why.
func (s *Serverless) Refused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refused)
}
