package redistest

// Option changes how a Server is started.
type Option func(*Server)

// WithTLS makes the server speak nothing but TLS, with a certificate for
// 127.0.0.1 and localhost from a CA made for this server (see Server.TLS). It
// asks no certificate of clients.
func WithTLS() Option {
	return func(s *Server) { s.authority = &authority{} }
}

// WithConfig adds lines to redis.conf, for example "appendonly yes".
func WithConfig(lines ...string) Option {
	return func(s *Server) { s.lines = append(s.lines, lines...) }
}

// WithCluster makes the server a Redis Cluster of one node that holds all
// slots. Its start takes 2 s: Redis does not let a master write any sooner
// (CLUSTER_WRITABLE_DELAY in cluster.c).
func WithCluster() Option {
	return func(s *Server) { s.cluster = true }
}
