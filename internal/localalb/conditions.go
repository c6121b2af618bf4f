package localalb

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// Condition is one condition of a rule. All conditions of a rule must hold;
// one of the values of a condition is enough. Make it with the functions
// below; the zero value is refused by SetRule.
type Condition struct {
	field  string
	name   string // of an http-header
	values []string
	pairs  []Pair // of a query-string
	regex  bool   // values are regular expressions
}

// Pair is a value of a query-string condition. An empty Key means any key.
type Pair struct{ Key, Value string }

// Fields of conditions, as the API names them.
const (
	fieldHost   = "host-header"
	fieldPath   = "path-pattern"
	fieldMethod = "http-request-method"
	fieldHeader = "http-header"
	fieldQuery  = "query-string"
	fieldSource = "source-ip"
)

// HostHeader compares the Host header without its port, whatever the case.
// Patterns may have * and ?, must have a dot, and end in letters after it.
func HostHeader(patterns ...string) Condition {
	return Condition{field: fieldHost, values: patterns}
}

// PathPattern compares the raw, still encoded path, case-sensitively. Patterns
// may have * and ?, but no percent sign.
func PathPattern(patterns ...string) Condition {
	return Condition{field: fieldPath, values: patterns}
}

// Method compares the method, exactly.
func Method(names ...string) Condition {
	return Condition{field: fieldMethod, values: names}
}

// Header compares each header of that name until a pattern fits, whatever the
// case of name and value. Patterns may have * and ?. Host is not allowed.
func Header(name string, patterns ...string) Condition {
	return Condition{field: fieldHeader, name: name, values: patterns}
}

// HeaderRegex is Header with regular expressions, case-sensitive and
// unanchored; AWS documents neither. It takes RE2 syntax, which has none of
// what AWS refuses but \p{}.
func HeaderRegex(name string, exprs ...string) Condition {
	return Condition{field: fieldHeader, name: name, values: exprs, regex: true}
}

// QueryString compares the raw, still encoded pairs of the query, whatever the
// case. Key and Value may have * and ?; a backslash makes them literal.
func QueryString(pairs ...Pair) Condition {
	return Condition{field: fieldQuery, pairs: pairs}
}

// SourceIP compares the address of the peer, not X-Forwarded-For, with CIDR
// blocks of IPv4 or IPv6.
func SourceIP(cidrs ...string) Condition {
	return Condition{field: fieldSource, values: cidrs}
}

// matcher reports whether a condition holds for a request.
type matcher func(x *exchange) bool

// compile checks c against the limits of the API reference (RuleCondition).
// It returns the number of wildcards used.
func (c Condition) compile() (matcher, int, error) {
	if c.count() == 0 {
		return nil, 0, errors.New("no value")
	}
	switch c.field {
	case fieldHost:
		return c.compileHost()
	case fieldPath:
		return c.compilePath()
	case fieldMethod:
		return c.compileMethod()
	case fieldHeader:
		return c.compileHeader()
	case fieldQuery:
		return c.compileQuery()
	case fieldSource:
		return c.compileSource()
	}
	return nil, 0, fmt.Errorf("unknown field %q", c.field)
}

// count returns the number of values, each of which counts against the rule.
func (c Condition) count() int { return len(c.values) + len(c.pairs) }

func (c Condition) compileMethod() (matcher, int, error) {
	for _, v := range c.values {
		if len(v) == 0 || len(v) > 40 || strings.Trim(v, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-") != "" {
			return nil, 0, fmt.Errorf("method %q is not 1 to 40 of A-Z, - and _", v)
		}
	}
	names := slices.Clone(c.values)
	return func(x *exchange) bool { return slices.Contains(names, x.r.Method) }, 0, nil
}

func (c Condition) compileSource() (matcher, int, error) {
	blocks := make([]netip.Prefix, len(c.values))
	for i, v := range c.values {
		block, err := netip.ParsePrefix(v)
		if err != nil {
			return nil, 0, fmt.Errorf("parse source %q: %w", v, err)
		}
		blocks[i] = block.Masked()
	}
	return func(x *exchange) bool {
		peer, err := netip.ParseAddrPort(x.r.RemoteAddr)
		if err != nil {
			return false
		}
		for _, b := range blocks {
			if b.Contains(peer.Addr().Unmap().WithZone("")) {
				return true
			}
		}
		return false
	}, 0, nil
}

func compileRegexes(exprs []string) ([]*regexp.Regexp, error) {
	all := make([]*regexp.Regexp, len(exprs))
	for i, e := range exprs {
		re, err := regexp.Compile(e)
		if err != nil {
			return nil, fmt.Errorf("parse regular expression: %w", err)
		}
		if len(e) == 0 || len(e) > 128 || strings.Contains(e, `\p`) || strings.Contains(e, `\P`) {
			return nil, fmt.Errorf("regular expression %q is empty, over 128 bytes or has \\p", e)
		}
		all[i] = re
	}
	return all, nil
}
