package redirect

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each row is a request target and what the Location must be after the node's
// endpoint and before the hop parameter. Reports are public ones, by repository
// and number.
func TestLocation(t *testing.T) {
	for _, row := range []struct{ name, target, want string }{
		{"a path", "/a/b", "/a/b"},
		{"an empty path", "", "/"},
		{"the root", "/", "/"},
		{"a path and a query", "/a?b=c", "/a?b=c"},
		{"a trailing slash", "/a/", "/a/"},
		{"two slashes inside", "/a//b", "/a//b"},
		{"dot segments", "/a/../b/./c", "/a/../b/./c"},
		{"all that a path may hold", "/aZ09-._~!$&'()*+,;=:@/", "/aZ09-._~!$&'()*+,;=:@/"},
		{"all that a query may hold", "/?aZ09-._~!$'()*+,;=:@/?", "/?aZ09-._~!$'()*+,;=:@/?"},
		{"a question mark in the query", "/?a?b??", "/?a?b??"},
		{"what Java refuses", "/ \\|^\"<>{}[]`? \\|^\"<>{}[]`", "/%20%5C%7C%5E%22%3C%3E%7B%7D%5B%5D%60?%20%5C%7C%5E%22%3C%3E%7B%7D%5B%5D%60"},
		{"a fragment's sign", "/a#b?c#d", "/a%23b?c%23d"},
		{"a lone percent sign", "/100%?%", "/100%25?%25"},
		{"a percent sign and one digit", "/%1?%a", "/%251?%25a"},
		{"a percent sign and no digits", "/%zz%g0?%0g", "/%25zz%25g0?%250g"},
		{"a percent sign before an escape", "/%%41", "/%25%41"},
		{"escapes in either case", "/%c2%A5?%2f%2F", "/%c2%A5?%2f%2F"},
		{"escapes of plain letters", "/%41?%61", "/%41?%61"},
		{"raw UTF-8 (dotnet/aspnetcore#2678, cloudflare/vinext#2011)", "/pp¥?¥=é", "/pp%C2%A5?%C2%A5=%C3%A9"},
		{"raw Latin-1", "/\xe9?\xff", "/%E9?%FF"},
		{"keys stay in order", "/?z=1&a=2&z=3", "/?z=1&a=2&z=3"},
		{"a key without a value", "/?a&b=", "/?a&b="},
		{"an empty key", "/?=v&=", "/?=v&="},
		{"empty pairs", "/?&a&&b&", "/?&a&&b&"},
		{"semicolons", "/a;jsessionid=1.n1?b;c", "/a;jsessionid=1.n1?b;c"},

		{"dougmoscrop/serverless-http#74", "/?query=%28countryCode%3DUS%29", "/?query=%28countryCode%3DUS%29"},
		{"CodeGenieApp/serverless-express#219", "/?name=John+Henry&greeting=HOW+ARE+YOU+?", "/?name=John+Henry&greeting=HOW+ARE+YOU+?"},
		{"aws/aws-lambda-rust-runtime#543", "/?originalQueryString=%3FshowAll%3Dtrue", "/?originalQueryString=%3FshowAll%3Dtrue"},
		{"brefphp/bref#456", "/?multi[rise%20of%20planets]=hello%20world", "/?multi%5Brise%20of%20planets%5D=hello%20world"},
		{"jeremydaly/lambda-api#131", "/?foo=hello%20world", "/?foo=hello%20world"},
		{"awslabs/aws-lambda-go-api-proxy#203", "/?from=2022-09-20T04%3A11%3A02", "/?from=2022-09-20T04%3A11%3A02"},
		{"awslabs/aws-lambda-go-api-proxy#147", "/?q=a%2Bb&x=%26", "/?q=a%2Bb&x=%26"},
		{"kubernetes-sigs/aws-load-balancer-controller#4579", "/at/2024-01-15T10%3A30", "/at/2024-01-15T10%3A30"},
		{"kubernetes-sigs/aws-load-balancer-controller#820", "//application", "//application"},
		{"KensioSoftware/yulin#577", "/?a=%zz&b=+&c=%2B", "/?a=%25zz&b=+&c=%2B"},
		{"PelicanPlatform/pelican#3748, a slash", "/bbb%2Fphi/r1", "/bbb%2Fphi/r1"},
		{"PelicanPlatform/pelican#3748, dots", "/a/%2E%2E/b", "/a/%2E%2E/b"},
		{"googleapis/google-http-java-client#597", "/?path=a%2Fb", "/?path=a%2Fb"},
		{"golang/vulndb#5658", "//evil.com/", "//evil.com/"},
		{"apache/tomcat CVE-2026-25854", "//evil.example/x", "//evil.example/x"},
		{"gradio-app/gradio#13438", "////evil.com", "////evil.com"},
		{"labstack/echo#1771", "/\\evil.example", "/%5Cevil.example"},
		{"golang/go#71161", "/../\\evil.com", "/../%5Cevil.com"},
		{"CrowCpp/Crow#1240", "/./\\\\evil", "/./%5C%5Cevil"},
		{"denoland/fresh#2313", "/%2F%2Fevil", "/%2F%2Fevil"},
		{"pocket-id/pocket-id#1450", "/%5C%5Cevil", "/%5C%5Cevil"},
		{"apostrophecms/apostrophe#1956", "/%2f%2fgoogle.com%2f", "/%2f%2fgoogle.com%2f"},
		{"golang/go#40120, encoded", "/%09/evil", "/%09/evil"},
		{"erlyaws/yaws#464", "/%0D%0ASet-Cookie:crlfinjection=1", "/%0D%0ASet-Cookie:crlfinjection=1"},
		{"userinfo in the path", "/@evil.com/:80@evil.com", "/@evil.com/:80@evil.com"},
		{"a URL in the path", "/http://evil.com/?next=http://evil.com", "/http://evil.com/?next=http://evil.com"},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, endpoint := range []string{"https://n1.example.com", "https://n1.example.com:8443/base", "http://[2001:db8::1]:8080"} {
				d := answer(redirector(), get(row.target), nodes(well("n1", "blue", at(endpoint))), now)
				require.Equal(t, 307, d.Status)
				sep := "?"
				if strings.Contains(row.want, "?") {
					sep = "&"
				}
				assert.Equal(t, endpoint+row.want+sep+"detour="+state(1, now, "n1"), d.Header.Get("Location"))
			}
		})
	}
}

// The authority comes from the registry, whatever the fields say that a load
// balancer passes on from anybody.
func TestNoFieldChangesTheLocation(t *testing.T) {
	for _, row := range []struct{ name, field string }{
		{"runbox/runbox7#1607", "X-Forwarded-Host: evil.example"},
		{"new-usemame/Calibre-Web-NextGen#1302", "X-Forwarded-Prefix: //evil.example"},
		{"gin-gonic/gin#3500", "x-forwarded-prefix: ../../bug#?"},
		{"angular/angular-cli#32501", "X-Forwarded-Prefix: ///evil.com"},
		{"nginx-proxy/nginx-proxy#918", "X-Forwarded-Port: 81"},
		{"odoo/odoo#70117", "Forwarded: host=evil.example;proto=http"},
		{"a host", "Host: evil.example"},
		{"a host with userinfo", "Host: n1.example.com:80@evil.example"},
		{"an original URL", "X-Original-URL: //evil.example/"},
		{"a rewritten URL", "X-Rewrite-URL: //evil.example/"},
		{"a path that is not trusted", "X-Forwarded-Path: //evil.example/"},
		{"a plain protocol", "X-Forwarded-Proto: http"},
		{"a strange protocol", "X-Forwarded-Proto: javascript"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := answer(redirector(), get("/a?b", row.field), nodes(well("n1", "blue")), now)
			assert.Equal(t, "https://n1.example.com/a?b&detour="+state(1, now, "n1"), d.Header.Get("Location"))
		})
	}
}

func TestATrustedForwardedPath(t *testing.T) {
	s := nodes(well("n1", "blue", contexts("/shop")), well("n2", "blue", contexts("/blog")))
	for _, row := range []struct {
		name, target, forwarded string
		want                    string
	}{
		{"a path before it was rewritten", "/x", "/shop/x", "https://n1.example.com/shop/x?"},
		{"a path and a query", "/x?a=1", "/shop/x?b=2", "https://n1.example.com/shop/x?b=2&"},
		{"a path alone leaves the query", "/x?a=1", "/shop/x", "https://n1.example.com/shop/x?a=1&"},
		{"an empty query", "/x?a=1", "/shop/x?", "https://n1.example.com/shop/x?"},
		{"it decides who serves it", "/shop/x", "/blog/x", "https://n2.example.com/blog/x?"},
		{"an absolute URL is ignored", "/shop/x", "https://evil.example/", "https://n1.example.com/shop/x?"},
		{"two slashes stay a path", "/shop/x", "/shop//evil.example", "https://n1.example.com/shop//evil.example?"},
		{"control characters are ignored", "/shop/x", "/blog/\r\nX: y", "https://n1.example.com/shop/x?"},
		{"what no URL holds is encoded", "/x", `/shop/\ x`, "https://n1.example.com/shop/%5C%20x?"},
	} {
		t.Run(row.name, func(t *testing.T) {
			req := get(row.target)
			req.Header = Header{{"X-Forwarded-Path", row.forwarded}}
			d := answer(redirector(func(c *Config) { c.TrustForwardedPath = true }), req, s, now)
			require.Equal(t, 307, d.Status)
			assert.True(t, strings.HasPrefix(d.Header.Get("Location"), row.want+"detour=1."), d.Header.Get("Location"))
		})
	}

	t.Run("hops come from there too", func(t *testing.T) {
		req := get("/x", "X-Forwarded-Path: /shop/x?detour="+state(3, now))
		d := answer(redirector(func(c *Config) { c.TrustForwardedPath = true }), req, s, now)
		assert.Equal(t, Looped, d.Outcome)
	})
}

func TestTheLongestLocation(t *testing.T) {
	room := maxLocation - len("https://n1.example.com/?detour="+state(1, now, "n1"))
	for _, row := range []struct {
		name   string
		path   string
		status int
	}{
		{"8 KiB", "/" + strings.Repeat("a", room), 307},
		{"one byte more", "/" + strings.Repeat("a", room+1), 414},
		{"8 KiB once encoded", "/" + strings.Repeat("a", room-3) + " ", 307},
		{"one byte more once encoded", "/" + strings.Repeat("a", room-2) + " ", 414},
		{"all that a load balancer lets through, to be encoded", "/" + strings.Repeat("\xff", 16<<10), 414},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := answer(redirector(), get(row.path), nodes(well("n1", "blue")), now)
			assert.Equal(t, row.status, d.Status)
			if row.status == 414 {
				assert.Equal(t, TooLong, d.Outcome)
				assert.Empty(t, d.Header.Get("Location"))
				assert.Nil(t, d.Node)
				return
			}
			assert.Len(t, d.Header.Get("Location"), maxLocation)
		})
	}
}
