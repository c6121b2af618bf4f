package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// request is one request to send; its body may be empty.
type request struct {
	method, url, contentType string
	body                     []byte
}

// client sends a request the way one kind of program does that follows
// redirects, and returns the status of the last answer.
type client func(ctx context.Context, r request) (status int, err error)

// clients are the programs that redirects are tried with. Each one is looked for
// when it is its turn; a missing one ends the test.
var clients = map[string]func(t *testing.T) client{
	"curl": func(t *testing.T) client { return curl(look(t, "curl")) },
	"Go":   func(*testing.T) client { return netHTTP },
	"Java": func(t *testing.T) client {
		return command(look(t, "java"), "-XX:TieredStopAtLevel=1", "testdata/clients/Client.java")
	},
	"Node.js":         func(t *testing.T) client { return command(look(t, "node"), "testdata/clients/client.mjs") },
	"Python requests": func(t *testing.T) client { return command(python(t), "testdata/clients/client.py") },
}

func look(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("%s not found: run `make deps`", program)
	}
	return path
}

// python returns a python3 that has requests: the one on PATH, or the system's,
// which Debian's package is for.
func python(t *testing.T) string {
	t.Helper()
	for _, path := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), path, "-c", "import requests").Run() == nil {
			return path
		}
	}
	t.Fatal("no python3 with requests found: run `make deps`")
	return ""
}

// command returns a client that is a program: it gets method, URL and content
// type as arguments and the body as its standard input.
func command(program string, args ...string) client {
	return func(ctx context.Context, r request) (int, error) {
		return run(ctx, r.body, program, append(args[:len(args):len(args)], r.method, r.url, r.contentType)...)
	}
}

func curl(program string) client {
	return func(ctx context.Context, r request) (int, error) {
		args := []string{
			"--silent", "--show-error", "--location", "--request", r.method,
			"--output", os.DevNull, "--write-out", "%{http_code}",
		}
		if len(r.body) > 0 {
			args = append(args, "--header", "Content-Type: "+r.contentType, "--data-binary", "@-")
		}
		return run(ctx, r.body, program, append(args, r.url)...)
	}
}

// run runs a program, without any proxy, that prints a status.
func run(ctx context.Context, stdin []byte, program string, args ...string) (int, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "NO_PROXY=*", "no_proxy=*")
	cmd.Stdin = bytes.NewReader(stdin)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("run %s: %w\n%s", program, err, &complaint)
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}

// netHTTP is net/http's own client, which leaves loopback out of any proxy.
func netHTTP(ctx context.Context, r request) (int, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(r.body))
	if err != nil {
		return 0, err
	}
	if len(r.body) > 0 {
		req.Header.Set("Content-Type", r.contentType)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}
