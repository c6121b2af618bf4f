package redirect

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http/httpguts"

	"github.com/detourhq/detour/pkg/cluster"
)

// An absolute http or https URL by the letter of RFC 3986, appendix A: scheme,
// authority, path-abempty and query.
var absoluteURL = regexp.MustCompile(`^https?://` +
	`(?:\[[0-9a-f:]+\]|[A-Za-z0-9._-]+)(?::[1-9][0-9]{0,4})?` +
	`(?:/(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*)*` +
	`(?:\?(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?$`)

var (
	literalInPath  = regexp.MustCompile(`^(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})`)
	literalInQuery = regexp.MustCompile(`^(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})`)
)

// says reports whether out says what in says: what may stand there does so as it
// was, each other byte is percent-encoded, and that is all.
func says(out, in string, literal *regexp.Regexp) bool {
	for in != "" {
		as := literal.FindString(in)
		took := len(as)
		if took == 0 {
			as, took = fmt.Sprintf("%%%02X", in[0]), 1
		}
		if !strings.HasPrefix(out, as) {
			return false
		}
		out, in = out[len(as):], in[took:]
	}
	return out == ""
}

// withoutHops returns query without the hop state; some is false if no pair is left,
// not even an empty one.
func withoutHops(query string) (rest string, some bool) {
	if query == "" {
		return "", false
	}
	var kept []string
	for _, pair := range strings.Split(query, "&") {
		if !isHop(pair) {
			kept = append(kept, pair)
		}
	}
	return strings.Join(kept, "&"), len(kept) > 0
}

func FuzzLocation(f *testing.F) {
	for _, target := range []string{
		"/", "/a/b?c=d", "//evil.example/x", `/\evil.example`, "/%2e%2e/%zz%?%&%4", "/a b?c d", "/é?\xff", "/?&&a&", "/?detour=xyz", "/#?#",
		"/?a&detour=1.sa7k8w.abc~green&b", "/a?detour=1.10&", "/;a=b/@evil:80?@",
	} {
		path, query, _ := strings.Cut(target, "?")
		f.Add(path, query)
	}
	f.Add("/a?b", "c?d")
	endpoints := []string{"https://n1.example.com", "http://[2001:db8::1]:8080/base", "https://n1.example.com:8443/a%20b"}
	r, snapshots := redirector(), make(map[string]*cluster.Snapshot)
	for _, e := range endpoints {
		snapshots[e] = nodes(well("n1", "blue", at(e)))
	}
	f.Fuzz(func(t *testing.T, path, query string) {
		for endpoint, s := range snapshots {
			d := answer(r, &Request{Method: "GET", Path: path, Query: query}, s, now)
			if d.Status != 307 {
				assert.Contains(t, []Outcome{Refused, TooLong, Health}, d.Outcome)
				assert.Empty(t, d.Header.Get("Location"))
				continue
			}
			checkLocation(t, d.Header.Get("Location"), endpoint, path, query)
		}
	})
}

// checkLocation requires that location leads to endpoint with path and query.
func checkLocation(t *testing.T, location, endpoint, path, query string) {
	t.Helper()
	require.True(t, absoluteURL.MatchString(location), location)
	require.True(t, httpguts.ValidHeaderFieldValue(location))
	require.LessOrEqual(t, len(location), maxLocation)

	u, err := url.Parse(location)
	require.NoError(t, err)
	base, err := url.Parse(endpoint)
	require.NoError(t, err)
	require.Equal(t, base.Scheme, u.Scheme)
	require.Equal(t, base.Host, u.Host)
	require.Nil(t, u.User)
	require.Empty(t, u.Fragment)

	rest, ok := strings.CutPrefix(location, endpoint)
	require.True(t, ok)
	gotPath, gotQuery, _ := strings.Cut(rest, "?")
	require.True(t, says(gotPath, cmp.Or(path, "/"), literalInPath), "path %q became %q", path, gotPath)
	own := strings.LastIndexByte(gotQuery, '&') + 1
	require.True(t, isHop(gotQuery[own:]), location)
	kept, some := withoutHops(query)
	if some {
		kept += "&"
	}
	require.True(t, says(gotQuery[:own], kept, literalInQuery), "query %q became %q", query, gotQuery)
}
