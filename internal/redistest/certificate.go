package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Files of writeCertificates.
const (
	caFile   = "ca.crt"
	certFile = "redis.crt"
	keyFile  = "redis.key"
)

// lifetime is how long certificates last, and for how long they are valid already.
const lifetime = 24 * time.Hour

// authority issues the certificates of one server.
type authority struct {
	cert    *x509.Certificate
	key     *ecdsa.PrivateKey // of cert
	server  *ecdsa.PrivateKey // of all that are issued
	reissue int               // how many were, after the first
}

// writeCertificates writes a new CA's certificate, and the certificate and key
// of a server on 127.0.0.1, into s's folder, and sets what clients need.
func (s *Server) writeCertificates() error {
	now, a := time.Now(), s.authority
	a.cert = &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "redistest CA"},
		NotBefore:             now.Add(-lifetime),
		NotAfter:              now.Add(lifetime),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	var err error
	if a.key, err = newKey(); err != nil {
		return err
	}
	if a.cert, err = sign(a.cert, a.cert, &a.key.PublicKey, a.key); err != nil {
		return err
	}
	if a.server, err = newKey(); err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(a.server)
	if err != nil {
		return fmt.Errorf("encode key: %w", err)
	}
	if err := writePEM(s.dir, keyFile, "PRIVATE KEY", der); err != nil {
		return err
	}
	if err := writePEM(s.dir, caFile, "CERTIFICATE", a.cert.Raw); err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	s.TLS = &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
	s.CAFile = s.path(caFile)
	return a.issue(s.dir, certFile, now.Add(lifetime))
}

// issue writes a certificate of the server that ends at end.
func (a *authority) issue(dir, name string, end time.Time) error {
	cert, err := sign(&x509.Certificate{
		SerialNumber: big.NewInt(int64(2 + a.reissue)),
		Subject:      pkix.Name{CommonName: "redistest"},
		NotBefore:    a.cert.NotBefore,
		NotAfter:     end,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:     []string{"localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}, a.cert, &a.server.PublicKey, a.key)
	if err != nil {
		return err
	}
	return writePEM(dir, name, "CERTIFICATE", cert.Raw)
}

// Certify gives a server with TLS a new certificate that ends at end, which may
// be past, for connections from now on. A restart brings the first one back.
func (s *Server) Certify(end time.Time) {
	s.t.Helper()
	if s.authority == nil {
		s.t.Fatal("redistest: certify redis-server: it was started without TLS")
	}
	s.authority.reissue++
	name := fmt.Sprintf("redis-%d.crt", s.authority.reissue) // a name that it has already, it does not load
	if err := s.authority.issue(s.dir, name, end); err != nil {
		s.t.Fatalf("redistest: certify redis-server: %v", err)
	}
	s.command("certify", "CONFIG", "SET", "tls-cert-file", s.path(name))
}

// AlsoPlain opens one more port of a server with TLS that speaks none, until the
// server is restarted, and returns its address.
func (s *Server) AlsoPlain() string {
	s.t.Helper()
	port, err := freePort()
	if err != nil {
		s.t.Fatalf("redistest: %v", err)
	}
	s.command("open a port of", "CONFIG", "SET", "port", port)
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	return key, nil
}

// sign returns the certificate that template describes, for the holder of key,
// issued by parent.
func sign(template, parent *x509.Certificate, key *ecdsa.PublicKey, parentKey *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key, parentKey)
	if err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	return cert, nil
}

func writePEM(dir, name, kind string, der []byte) error {
	raw := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(filepath.Join(dir, name), raw, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
