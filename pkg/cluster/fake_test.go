package cluster

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fake speaks just enough RESP over TLS to be signed in to, and does what no real
// server can be made to do: refuse, forget, and count handshakes. The epoch that
// it tells is 7.
type fake struct {
	addr   string
	answer func(conn int, command []string) string // a RESP reply, "" to hang up, or pass

	mu       sync.Mutex // guards the following
	sent     []string   // the commands' names
	accepted int        // handshakes
	open     map[net.Conn]bool
}

// pass is what answer returns for what the fake answers by itself.
const pass = "pass"

// startFake starts one whose certificate ends at notAfter.
func startFake(t *testing.T, notAfter time.Time, answer func(int, []string) string) *fake {
	t.Helper()
	plain, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	listener := tls.NewListener(plain, &tls.Config{Certificates: []tls.Certificate{selfSigned(t, notAfter)}, MinVersion: tls.VersionTLS12})
	f := &fake{addr: plain.Addr().String(), answer: answer, open: make(map[net.Conn]bool)}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { f.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = plain.Close()
		f.hangUp()
		conns.Wait()
	})
	return f
}

// url returns the fake's address, whose certificate nobody has to trust.
func (f *fake) url() string { return "rediss://" + f.addr + "?skip_verify=true" }

// hangUp closes every connection.
func (f *fake) hangUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for conn := range f.open {
		_ = conn.Close()
	}
}

// commands returns what was sent since the last call.
func (f *fake) commands() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	sent := f.sent
	f.sent = nil
	return sent
}

// handshakes returns how many connections there were.
func (f *fake) handshakes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.accepted
}

func (f *fake) serve(conn net.Conn) {
	if conn.(*tls.Conn).Handshake() != nil { //nolint:noctx // ends with the connection
		_ = conn.Close()
		return
	}
	f.mu.Lock()
	f.accepted++
	id := f.accepted
	f.open[conn] = true
	f.mu.Unlock()
	defer func() {
		_ = conn.Close()
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.open, conn)
	}()
	r := bufio.NewReader(conn)
	for {
		command, err := readCommand(r)
		if err != nil {
			return
		}
		f.mu.Lock()
		f.sent = append(f.sent, strings.ToUpper(command[0]))
		f.mu.Unlock()
		reply := f.answer(id, command)
		if reply == pass {
			reply = ordinary(command)
		}
		if reply == "" {
			return
		}
		if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}

func ordinary(command []string) string {
	switch strings.ToUpper(command[0]) {
	case "HELLO":
		return "%2\r\n+server\r\n+fake\r\n+proto\r\n:3\r\n"
	case "GETEX":
		return "$1\r\n7\r\n"
	case "AUTH":
		return "+OK\r\n"
	}
	return "-ERR unknown command\r\n"
}

// readCommand reads an array of bulk strings.
func readCommand(r *bufio.Reader) ([]string, error) {
	n, err := readLength(r)
	if err != nil {
		return nil, err
	}
	command := make([]string, n)
	for i := range command {
		size, err := readLength(r)
		if err != nil {
			return nil, err
		}
		text := make([]byte, size+2)
		if _, err := io.ReadFull(r, text); err != nil {
			return nil, err
		}
		command[i] = string(text[:size])
	}
	return command, nil
}

func readLength(r *bufio.Reader) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil || len(line) < 4 {
		return 0, fmt.Errorf("line %q: %w", line, err)
	}
	return strconv.Atoi(line[1 : len(line)-2])
}

func selfSigned(t *testing.T, notAfter time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: notAfter.Add(-48 * time.Hour), NotAfter: notAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, &x509.Certificate{SerialNumber: big.NewInt(1)}, &key.PublicKey, key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
