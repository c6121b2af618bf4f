package cluster

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// address is what a registry URL says.
type address struct {
	hosts          []string // host:port, at least one
	user, password string
	db             int
	protocol       int // of RESP; zero means the newest
	secure         bool
	clustered      bool
	unverified     bool // any certificate will do
}

func urlFault(format string, args ...any) error {
	return fmt.Errorf("%w: registry URL: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// parseURL reads a registry URL, see [CheckURL]. What stands before the query is
// never quoted in a fault: where it is out of form, any of it may be the password.
func parseURL(raw string) (address, error) {
	var a address
	scheme, rest, _ := strings.Cut(raw, "://")
	switch strings.ToLower(scheme) {
	case "redis":
	case "rediss":
		a.secure = true
	default:
		return a, urlFault("it must begin with redis://, or with rediss:// for TLS")
	}
	end := strings.IndexAny(rest+"/", "/?#")
	authority, tail := rest[:end], rest[end:]
	if strings.Contains(tail, "@") {
		return a, urlFault("@ stands behind the host: percent-encode what is no letter or digit of user and password")
	}
	at := strings.LastIndex(authority, "@") + 1
	u, err := url.Parse("redis://" + authority[:at] + "host" + tail)
	switch {
	case err != nil && at > 0:
		return a, urlFault("it cannot be read: percent-encode what is no letter or digit of user and password")
	case err != nil || u.Fragment != "":
		return a, urlFault("what follows the host cannot be read")
	}
	a.user = u.User.Username()
	a.password, _ = u.User.Password()
	if err := a.readQuery(u); err != nil {
		return a, err
	}
	if err := a.readHosts(strings.Split(authority[at:], ",")); err != nil {
		return a, err
	}
	switch {
	case len(a.hosts) > 1 && !a.clustered:
		return a, urlFault("several hosts are a cluster's: add cluster=true, or name the primary alone")
	case a.db != 0 && a.clustered:
		return a, urlFault("a cluster has no database but 0")
	}
	return a, nil
}

// readHosts puts list before the hosts of the query.
func (a *address) readHosts(list []string) error {
	list = append(list, a.hosts...)
	a.hosts = nil
	for i, h := range list {
		u, err := url.Parse("redis://" + h)
		if err != nil || u.Hostname() == "" || u.User != nil || u.Host != h {
			return urlFault("host %d of %d is neither HOST nor HOST:PORT", i+1, len(list))
		}
		port := u.Port()
		if port == "" {
			port = "6379"
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return urlFault("the port of host %d of %d is not 1 to 65535", i+1, len(list))
		}
		if addr := net.JoinHostPort(u.Hostname(), port); !slices.Contains(a.hosts, addr) {
			a.hosts = append(a.hosts, addr)
		}
	}
	return nil
}

// readQuery reads the options, and the database in the path.
func (a *address) readQuery(u *url.URL) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return urlFault("its options cannot be read")
	}
	if db := strings.Trim(u.Path, "/"); db != "" && !query.Has("db") {
		query.Set("db", db)
	}
	for name, values := range query {
		value := values[len(values)-1]
		switch name {
		case "addr":
			a.hosts = values
		case "cluster":
			a.clustered, err = strconv.ParseBool(value)
		case "skip_verify":
			a.unverified, err = strconv.ParseBool(value)
		case "db":
			a.db, err = parseWithin(value, 0, 1<<31-1)
		case "protocol":
			a.protocol, err = parseWithin(value, 2, 3)
		default:
			return urlFault("option %.40q is none of addr, cluster, db, protocol, skip_verify", name)
		}
		if err != nil {
			return urlFault("%s=%.40q is out of form", name, value)
		}
	}
	return nil
}

func parseWithin(s string, least, most int) (int, error) {
	n, err := strconv.Atoi(s)
	if err == nil && (n < least || n > most) {
		err = strconv.ErrRange
	}
	return n, err
}

// serverName returns the name that addr's certificate must hold: its own, but the
// first host's where a cluster tells an IP address that the URL does not.
func (a *address) serverName(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil && (net.ParseIP(host) == nil || slices.Contains(a.hosts, addr)) {
		return host
	}
	first, _, _ := net.SplitHostPort(a.hosts[0])
	return first
}
