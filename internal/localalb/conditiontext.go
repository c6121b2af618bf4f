package localalb

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// hostSyntax and pathSyntax are the characters that the API reference allows.
var (
	hostSyntax = regexp.MustCompile(`^[A-Za-z0-9.*?-]*\.[A-Za-z*?]+$`)
	pathSyntax = regexp.MustCompile(`^[A-Za-z0-9_.$/~"'@:+&*?-]+$`)
)

func (c Condition) compileHost() (matcher, int, error) {
	for _, v := range c.values {
		if len(v) > 128 || !hostSyntax.MatchString(v) {
			return nil, 0, fmt.Errorf("host %q is over 128 bytes, lacks a dot or has other than A-Z a-z 0-9 - . * ? (letters after the last dot)", v)
		}
	}
	patterns, wildcards := parsePatterns(c.values, lower)
	return func(x *exchange) bool {
		name, _, _ := cutPort(x.r.Host)
		return anyMatch(patterns, lower(name))
	}, wildcards, nil
}

func (c Condition) compilePath() (matcher, int, error) {
	for _, v := range c.values {
		if len(v) > 128 || !pathSyntax.MatchString(v) {
			return nil, 0, fmt.Errorf(`path %q is empty, over 128 bytes or has other than A-Z a-z 0-9 _-.$/~"'@:+&*?`, v)
		}
	}
	patterns, wildcards := parsePatterns(c.values, visible)
	return func(x *exchange) bool { return anyMatch(patterns, visible(x.path)) }, wildcards, nil
}

func (c Condition) compileHeader() (matcher, int, error) {
	if len(c.name) > 40 || !httpguts.ValidHeaderFieldName(c.name) || strings.EqualFold(c.name, "Host") {
		return nil, 0, fmt.Errorf("header name %q is Host, over 40 bytes or no token of RFC 9110", c.name)
	}
	if c.regex {
		return c.compileHeaderRegex()
	}
	for _, v := range c.values {
		if len(v) == 0 || len(v) > 128 || visible(v) != v {
			return nil, 0, fmt.Errorf("header value %q is not 1 to 128 bytes of visible ASCII", v)
		}
	}
	patterns, wildcards := parsePatterns(c.values, lower)
	return func(x *exchange) bool {
		return slices.ContainsFunc(x.r.Header.Values(c.name), func(v string) bool {
			return anyMatch(patterns, lower(v))
		})
	}, wildcards, nil
}

func (c Condition) compileHeaderRegex() (matcher, int, error) {
	exprs, err := compileRegexes(c.values)
	if err != nil {
		return nil, 0, err
	}
	return func(x *exchange) bool {
		return slices.ContainsFunc(x.r.Header.Values(c.name), func(v string) bool {
			return slices.ContainsFunc(exprs, func(e *regexp.Regexp) bool { return e.MatchString(visible(v)) })
		})
	}, 0, nil
}

// pairPattern is a compiled Pair; a nil key fits every key.
type pairPattern struct{ key, value pattern }

func (c Condition) compileQuery() (matcher, int, error) {
	patterns, wildcards := make([]pairPattern, len(c.pairs)), 0
	for i, p := range c.pairs {
		if len(p.Value) == 0 || len(p.Key) > 128 || len(p.Value) > 128 {
			return nil, 0, fmt.Errorf("query pair %q=%q has an empty value or is over 128 bytes", p.Key, p.Value)
		}
		patterns[i].value = parsePattern(lower(p.Value), true)
		if p.Key != "" {
			patterns[i].key = parsePattern(lower(p.Key), true)
		}
		wildcards += patterns[i].key.wildcards() + patterns[i].value.wildcards()
	}
	return func(x *exchange) bool {
		for key, value := range queryPairs(x.query) {
			key, value = lower(key), lower(value)
			for _, p := range patterns {
				if (p.key == nil || p.key.match(key)) && p.value.match(value) {
					return true
				}
			}
		}
		return false
	}, wildcards, nil
}

// parsePatterns compiles values and counts their wildcards.
func parsePatterns(values []string, fold func(string) string) (all []pattern, wildcards int) {
	for _, v := range values {
		p := parsePattern(fold(v), false)
		all = append(all, p)
		wildcards += p.wildcards()
	}
	return all, wildcards
}

func anyMatch(patterns []pattern, s string) bool {
	return slices.ContainsFunc(patterns, func(p pattern) bool { return p.match(s) })
}

// visible returns s as rules see it: they evaluate visible ASCII alone (user
// guide, "Condition types for listener rules"). Space is kept.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, s)
}

// lower is visible without regard to case.
func lower(s string) string { return strings.ToLower(visible(s)) }
