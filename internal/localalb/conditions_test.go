package localalb

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConditions(t *testing.T) {
	header := func(values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header["X-Kind"] = values }
	}
	for _, tc := range []struct {
		name   string
		cond   Condition
		target string
		change func(*http.Request)
		want   bool
	}{
		{"host in another case", HostHeader("APP.Example.com"), "/", nil, true},
		{"host without its port", HostHeader("app.example.com"), "/", func(r *http.Request) { r.Host = "app.example.com:8080" }, true},
		{"another host", HostHeader("example.com"), "/", nil, false},
		{"host by wildcard", HostHeader("*.example.com"), "/", nil, true},
		{"the wildcard needs its dot", HostHeader("*.app.example.com"), "/", nil, false},
		{"the second host fits", HostHeader("a.example", "app.*"), "/", nil, true},

		{"path", PathPattern("/shop"), "/shop", nil, true},
		{"path in another case", PathPattern("/shop"), "/Shop", nil, false},
		{"path is matched whole", PathPattern("/shop"), "/shop/", nil, false},
		{"a star crosses slashes", PathPattern("/shop/*"), "/shop/a/b", nil, true},
		{"a star may stand for nothing", PathPattern("/shop*"), "/shop", nil, true},
		{"a question mark is one character", PathPattern("/?"), "/a", nil, true},
		{"and not none", PathPattern("/?"), "/", nil, false},
		{"the query is no part of the path", PathPattern("/shop"), "/shop?a=/x", nil, true},
		{"the path stays encoded", PathPattern("/a/b"), "/a%2Fb", nil, false},
		{"an encoded path by wildcard", PathPattern("/a?2Fb"), "/a%2Fb", nil, true},
		{"a doubled slash stays", PathPattern("/shop"), "//shop", nil, false},

		{"method", Method("POST", "GET"), "/", nil, true},
		{"method in another case", Method("GET"), "/", func(r *http.Request) { r.Method = "get" }, false},

		{"header in another case", Header("x-KIND", "BLUE"), "/", header("blue"), true},
		{"no such header", Header("X-Kind", "*"), "/", nil, false},
		{"an empty header fits a star", Header("X-Kind", "*"), "/", header(""), true},
		{"the second of repeated headers", Header("X-Kind", "b*"), "/", header("a", "blue"), true},
		{"headers are not joined", Header("X-Kind", "a*b"), "/", header("a", "b"), false},
		{"bytes outside ASCII are not seen", Header("X-Kind", "blue"), "/", header("bl\u00e9ue"), true},
		{"header by expression", HeaderRegex("Content-Length", `^[0-9]{7,}$`), "/", func(r *http.Request) { r.Header.Set("Content-Length", "1048577") }, true},
		{"a number too short", HeaderRegex("Content-Length", `^[0-9]{7,}$`), "/", func(r *http.Request) { r.Header.Set("Content-Length", "999999") }, false},

		{"query pair in another case", QueryString(Pair{"Version", "V1"}), "/?a=b&vERSION=v1", nil, true},
		{"query value under another key", QueryString(Pair{"version", "v1"}), "/?other=v1", nil, false},
		{"query value under any key", QueryString(Pair{"", "v1"}), "/?other=v1", nil, true},
		{"query key by wildcard", QueryString(Pair{"v*", "1"}), "/?version=1", nil, true},
		{"the query stays encoded", QueryString(Pair{"a", "b c"}), "/?a=b%20c", nil, false},
		{"an escaped star is a star", QueryString(Pair{"a", `\*`}), "/?a=*", nil, true},
		{"an escaped star is nothing else", QueryString(Pair{"a", `\*`}), "/?a=x", nil, false},
		{"the end of a detour parameter", QueryString(Pair{"detour", "*~green"}), "/?x=1&detour=1.tq0~green", nil, true},
		{"a key without value fits a star", QueryString(Pair{"a", "*"}), "/?a", nil, true},
		{"no query fits nothing", QueryString(Pair{"", "*"}), "/", nil, false},

		{"peer in the block", SourceIP("192.0.2.0/24"), "/", nil, true},
		{"peer outside", SourceIP("192.0.3.0/24"), "/", nil, false},
		{"X-Forwarded-For is not the source", SourceIP("198.51.100.0/24"), "/", func(r *http.Request) { r.Header.Set("X-Forwarded-For", "198.51.100.1") }, false},
		{"an IPv6 peer", SourceIP("2001:db8::/32"), "/", func(r *http.Request) { r.RemoteAddr = "[2001:db8::1]:5" }, true},
		{"an IPv4 peer on an IPv6 socket", SourceIP("192.0.2.0/24"), "/", func(r *http.Request) { r.RemoteAddr = "[::ffff:192.0.2.7]:5" }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, _, err := tc.cond.compile()
			require.NoError(t, err)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, tc.target, http.NoBody)
			r.Host = "app.example.com"
			if tc.change != nil {
				tc.change(r)
			}
			lb, err := New(Config{})
			require.NoError(t, err)
			assert.Equal(t, tc.want, m(lb.newExchange(httptest.NewRecorder(), r)))
		})
	}
}

func TestRuleLimits(t *testing.T) {
	long := strings.Repeat("x", 128)
	for _, tc := range []struct {
		name  string
		conds []Condition
		ok    bool
	}{
		{"no condition", nil, false},
		{"a zero condition", []Condition{{}}, false},
		{"a condition without values", []Condition{PathPattern()}, false},
		{"two path conditions", []Condition{PathPattern("/a"), PathPattern("/b")}, false},
		{"two host conditions", []Condition{HostHeader("a.b"), HostHeader("a.c")}, false},
		{"two method conditions", []Condition{Method("A"), Method("B")}, false},
		{"two source conditions", []Condition{SourceIP("192.0.2.0/24"), SourceIP("192.0.2.0/24")}, false},
		{"two header and two query conditions", []Condition{Header("A", "1"), Header("A", "2"), QueryString(Pair{"", "1"}), QueryString(Pair{"", "2"})}, true},
		{"three values in a condition", []Condition{PathPattern("/a", "/b", "/c")}, true},
		{"four values in a condition", []Condition{PathPattern("/a", "/b", "/c", "/d")}, false},
		{"five sources", []Condition{SourceIP("192.0.2.1/32", "192.0.2.2/32", "192.0.2.3/32", "192.0.2.4/32", "192.0.2.5/32")}, true},
		{"five values in a rule", []Condition{PathPattern("/a", "/b", "/c"), Method("A", "B")}, true},
		{"six values in a rule", []Condition{PathPattern("/a", "/b", "/c"), Method("A", "B", "C")}, false},
		{"five wildcards", []Condition{PathPattern("/*?"), Header("A", "**"), QueryString(Pair{"?", "x"})}, true},
		{"six wildcards", []Condition{PathPattern("/*?"), Header("A", "**"), QueryString(Pair{"?", "*"})}, false},
		{"escaped wildcards do not count", []Condition{QueryString(Pair{"", `\*\*\*\?\?\?*`})}, true},
		{"the Content-Length of seven digits and more", []Condition{Header("Content-Length", "???????*")}, false},

		{"a host of 128 bytes", []Condition{HostHeader(long[:126] + ".x")}, true},
		{"a longer host", []Condition{HostHeader(long[:127] + ".x")}, false},
		{"a host without a dot", []Condition{HostHeader("localhost")}, false},
		{"a host that ends in digits", []Condition{HostHeader("127.0.0.1")}, false},
		{"a host with a port", []Condition{HostHeader("a.b:80")}, false},
		{"a path of 128 bytes", []Condition{PathPattern(long)}, true},
		{"a longer path", []Condition{PathPattern(long + "x")}, false},
		{"all characters of paths", []Condition{PathPattern(`/A0_-.$/~"'@:+&`)}, true},
		{"a path with a percent sign", []Condition{PathPattern("/a%2Fb")}, false},
		{"an empty path", []Condition{PathPattern("")}, false},
		{"a method of 40 bytes", []Condition{Method(strings.Repeat("A", 40))}, true},
		{"a longer method", []Condition{Method(strings.Repeat("A", 41))}, false},
		{"a lower-case method", []Condition{Method("get")}, false},
		{"a method with a wildcard", []Condition{Method("G*")}, false},
		{"a header name of 40 bytes", []Condition{Header(strings.Repeat("A", 40), "1")}, true},
		{"a longer header name", []Condition{Header(strings.Repeat("A", 41), "1")}, false},
		{"the header Host", []Condition{Header("host", "a")}, false},
		{"a header name with a wildcard in a bad place", []Condition{Header("A(", "a")}, false},
		{"a header value of 128 bytes", []Condition{Header("A", long)}, true},
		{"a longer header value", []Condition{Header("A", long+"x")}, false},
		{"a header value outside ASCII", []Condition{Header("A", "\u00e9")}, false},
		{"an expression that does not parse", []Condition{HeaderRegex("A", "(")}, false},
		{"an expression with lookahead", []Condition{HeaderRegex("A", "a(?=b)")}, false},
		{"an expression with a class of Unicode", []Condition{HeaderRegex("A", `\pL`)}, false},
		{"an expression of 129 bytes", []Condition{HeaderRegex("A", long+"x")}, false},
		{"a query key and value of 128 bytes", []Condition{QueryString(Pair{long, long})}, true},
		{"a longer query key", []Condition{QueryString(Pair{long + "x", "1"})}, false},
		{"a longer query value", []Condition{QueryString(Pair{"", long + "x"})}, false},
		{"a query pair without value", []Condition{QueryString(Pair{"a", ""})}, false},
		{"a source without length", []Condition{SourceIP("192.0.2.1")}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lb, err := New(Config{})
			require.NoError(t, err)
			err = lb.SetRule(Rule{Name: "r", Priority: 1, Conditions: tc.conds, Action: FixedResponse{Status: 200}})
			assert.Equal(t, tc.ok, err == nil, "%v", err)
		})
	}
}

func TestFiveValuesPerConditionOnDemand(t *testing.T) {
	lb, err := New(Config{ValuesPerCondition: 5})
	require.NoError(t, err)
	five := PathPattern("/a", "/b", "/c", "/d", "/e")
	require.NoError(t, lb.SetRule(Rule{Name: "r", Priority: 1, Conditions: []Condition{five}, Action: FixedResponse{Status: 200}}))
}

// FuzzConditions compares pattern with the same pattern as regular expression.
func FuzzConditions(f *testing.F) {
	for _, seed := range [][2]string{
		{"/shop*", "/shop/a"}, {"*a?b*", "xxaab"}, {`\*\?`, "*?"}, {`\\*`, `\x`}, {"a*b*c", "abbcbc"}, {"", ""}, {"**", ""}, {`x\`, `x\`},
	} {
		f.Add(seed[0], seed[1], true)
		f.Add(seed[0], seed[1], false)
	}
	f.Fuzz(func(t *testing.T, glob, s string, escapes bool) {
		if len(glob) > 128 || len(s) > 1000 {
			return
		}
		glob, s = visible(glob), visible(s)
		assert.Equal(t, globExpr(glob, escapes).MatchString(s), parsePattern(glob, escapes).match(s), "%q against %q", glob, s)
	})
}

// globExpr writes a pattern as regular expression, token by token.
func globExpr(glob string, escapes bool) *regexp.Regexp {
	tokens := regexp.MustCompile(`.`)
	if escapes {
		tokens = regexp.MustCompile(`\\[*?\\]|.`)
	}
	return regexp.MustCompile("^" + tokens.ReplaceAllStringFunc(glob, func(tok string) string {
		switch {
		case tok == "*":
			return ".*"
		case tok == "?":
			return "."
		case len(tok) == 2:
			return regexp.QuoteMeta(tok[1:])
		}
		return regexp.QuoteMeta(tok)
	}) + "$")
}
