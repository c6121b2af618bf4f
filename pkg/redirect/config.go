package redirect

import (
	"fmt"
	"time"

	"github.com/detourhq/detour/pkg/selection"
)

// Config is how decisions are made. Its zero value answers every redirect with
// 503: MaxRedirects must be at least 1.
type Config struct {
	Selection    selection.Config
	MaxRedirects int           // hops after which a request gets 503; more than 99 means 99
	RetryAfter   time.Duration // told to clients when no pause says when to come back; a second at least
	Origins      []OriginRule  // consulted before what groups say of themselves
	Carrier      Carrier       // empty means QueryCarrier

	// SessionCookie is the exact name of the session cookie of groups that name none
	// themselves; empty means that their sessions are not looked for.
	SessionCookie string

	// PassKey signs passes, see [SignPass]; empty means that none is valid.
	PassKey []byte

	// AllowedHosts are the authorities (host, or host:port) on which a group
	// with a route may be reached again by the same authority.
	AllowedHosts []string

	// CORSOrigins are the origins whose scripts may follow redirects; empty means
	// all. What is answered here holds nothing private, and the node that a
	// browser is led to makes a decision of its own.
	CORSOrigins     []string
	CORSCredentials bool

	// TrustForwardedPath takes the path, and the query if there is one, from
	// X-Forwarded-Path where a proxy in front, which overwrites that header,
	// rewrote them.
	TrustForwardedPath bool
}

// Carrier says what carries the hop state from one redirect to the next.
type Carrier string

// The carriers. A query parameter comes back from every client measured; no
// client copies a response header into its next request.
const (
	QueryCarrier  Carrier = "query"
	CookieCarrier Carrier = "cookie" // for clients that keep cookies, on one host; see hopCookie
	HeaderCarrier Carrier = "header" // for clients of one's own
)

// UnmarshalText reads a carrier.
func (c *Carrier) UnmarshalText(text []byte) error {
	switch v := Carrier(text); v {
	case QueryCarrier, CookieCarrier, HeaderCarrier:
		*c = v
		return nil
	}
	return fmt.Errorf("carrier %q is none of query, cookie, header", text)
}
