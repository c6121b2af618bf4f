package redirect

import (
	"errors"
	"fmt"
	"strings"

	"github.com/detourhq/detour/pkg/cluster"
)

// OriginRule says what a request that matches was meant for. Exactly one of
// TargetGroup, Host and Path is set.
type OriginRule struct {
	TargetGroup string // name of the target group that the request came through
	Host        string // host name, lower-case, without a port
	Path        string // path prefix by whole segments

	Group string
	Node  string // empty where the whole group is the origin
}

// ParseOrigin reads MATCH=GROUP or MATCH=GROUP/NODE, where MATCH is a target
// group's name, host:NAME or path:/PREFIX.
func ParseOrigin(s string) (OriginRule, error) {
	last := strings.LastIndexByte(s, '=') // a path may hold one, an id may not
	if last < 0 {
		return OriginRule{}, fmt.Errorf("origin %q is not MATCH=GROUP or MATCH=GROUP/NODE", s)
	}
	r, err := parseMatch(s[:last])
	group, node, one := strings.Cut(s[last+1:], "/")
	err = errors.Join(err, cluster.CheckID(group))
	if one {
		err = errors.Join(err, cluster.CheckID(node))
	}
	if err != nil {
		return OriginRule{}, fmt.Errorf("origin %q: %w", s, err)
	}
	r.Group, r.Node = group, node
	return r, nil
}

func parseMatch(s string) (OriginRule, error) {
	kind, value, typed := strings.Cut(s, ":")
	switch {
	case !typed && cluster.CheckID(s) == nil:
		return OriginRule{TargetGroup: s}, nil
	case kind == "host":
		host := hostName(value)
		if strings.Contains(host, "/") || cluster.CheckEndpoint("https://"+host) != nil {
			return OriginRule{}, fmt.Errorf("%q is no host name", value)
		}
		return OriginRule{Host: host}, nil
	case kind == "path":
		return OriginRule{Path: value}, cluster.CheckContext(value)
	}
	return OriginRule{}, errors.New("match is none of TARGET-GROUP-NAME, host:NAME, path:/PREFIX")
}

// UnmarshalText reads a rule as [ParseOrigin] does.
func (r *OriginRule) UnmarshalText(text []byte) error {
	rule, err := ParseOrigin(string(text))
	*r = rule
	return err
}

// hostName returns the host of a Host field in the form in which hosts are
// compared: without port and trailing dot, in lower case.
func hostName(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
