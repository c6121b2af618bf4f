package cluster

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// CheckEndpoint returns nil if s can stand in front of a request's path: an
// absolute http or https URL in ASCII, of a host name or an IP address
// (RFC 3986 §3.2.2), an optional port and an optional base path that does not
// end in '/'. No user, query or fragment. The error wraps [ErrInvalid].
func CheckEndpoint(s string) error {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || scheme != "http" && scheme != "https" {
		return endpointError(s, "does not begin with http:// or https://")
	}
	authority, base := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, base = rest[:i], rest[i:]
	}
	if problem := checkAuthority(authority); problem != "" {
		return endpointError(s, problem)
	}
	if problem := checkBase(base); problem != "" {
		return endpointError(s, problem)
	}
	return nil
}

func endpointError(s, problem string) error {
	return fmt.Errorf("%w: endpoint %.80q %s", ErrInvalid, s, problem)
}

func checkAuthority(a string) string {
	host, port := a, ""
	if i := strings.LastIndexByte(a, ':'); i >= 0 && !strings.HasSuffix(a, "]") {
		host, port = a[:i], a[i+1:]
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || port[0] == '0' {
			return "has a port that is not 1 to 65535"
		}
	}
	if strings.HasPrefix(host, "[") {
		ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
		if err != nil || !ip.Is6() || ip.Zone() != "" || !strings.HasSuffix(host, "]") {
			return "has an IPv6 address out of form"
		}
		return ""
	}
	return checkHostName(host)
}

// checkHostName takes what DNS and ALB host conditions know: labels of letters,
// digits and inner hyphens (RFC 1123 §2.1), and '_', which many zones use.
func checkHostName(h string) string {
	if h == "" || len(h) > 253 {
		return "has no host name, or one over 253 characters"
	}
	for label := range strings.SplitSeq(h, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return "has a host name with an empty, overlong or hyphen-edged label"
		}
		if strings.ContainsFunc(label, func(r rune) bool { return r > 0x7f || !idByte(byte(r)) || r == '@' || r == '.' }) {
			return "has a host name with a character other than letters, digits, - and _ (IDN names: use punycode)"
		}
	}
	return ""
}

func checkBase(p string) string {
	if strings.HasSuffix(p, "/") {
		return "ends in /: leave that off"
	}
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '%' && (i+2 >= len(p) || !isHex(p[i+1]) || !isHex(p[i+2])):
			return "has a % that is not followed by two hex digits"
		case c <= ' ' || c >= 0x7f || strings.IndexByte(`"<>\^{}|?#[]`+"`", c) >= 0:
			return "has a base path with a character that no URL path may hold"
		}
	}
	return ""
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
