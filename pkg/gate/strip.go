package gate

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/detourhq/detour/pkg/redirect"
)

// hopPair is hop state in a query as a redirector writes it, however old: count,
// seconds, up to 16 marks of 30 bits, and maybe a route. Anything else of that name
// is the application's own. See [redirect.Parameter].
var hopPair = regexp.MustCompile(`^` + redirect.Parameter +
	`=[1-9][0-9]?\.(0|[1-9a-z][0-9a-z]{0,6})(\.(0|[1-9a-z][0-9a-z]{0,5})){0,16}(~[a-z0-9-]+)?$`)

// withoutHop returns r as it was before it was redirected: without the hop state in
// the query, which a signature, a cache key or a strict parser may stumble over.
// All other bytes stay. r itself comes back where there is none.
func withoutHop(r *http.Request) *http.Request {
	if !strings.Contains(r.URL.RawQuery, redirect.Parameter+"=") {
		return r
	}
	kept := stripQuery(r.URL.RawQuery)
	if kept == r.URL.RawQuery {
		return r
	}
	stripped := new(http.Request)
	*stripped = *r
	stripped.URL = new(url.URL)
	*stripped.URL = *r.URL
	stripped.URL.RawQuery = kept
	if path, query, ok := strings.Cut(r.RequestURI, "?"); ok {
		stripped.RequestURI = path
		if query = stripQuery(query); query != "" {
			stripped.RequestURI += "?" + query
		}
	}
	return stripped
}

func stripQuery(query string) string {
	pairs := strings.Split(query, "&")
	return strings.Join(slices.DeleteFunc(pairs, hopPair.MatchString), "&")
}
