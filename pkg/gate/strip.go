package gate

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/detourhq/detour/pkg/redirect"
)

// withoutHop returns r as it was before it was redirected: without the hop state in
// the query, which a signature, a cache key or a strict parser may stumble over.
// All other bytes stay. r itself comes back where there is none.
func withoutHop(r *http.Request) *http.Request {
	kept := redirect.StripHop(r.URL.RawQuery)
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
		if query = redirect.StripHop(query); query != "" {
			stripped.RequestURI += "?" + query
		}
	}
	return stripped
}
