package localalb

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"slices"
	"time"
)

// Names of the cookies by which a target group knows its clients again. Both hold
// the same; the second one is for requests from other sites.
const (
	stickyCookie     = "AWSALB"
	stickyCORSCookie = "AWSALBCORS"
)

// sticky binds clients to targets for a duration (stickiness.type lb_cookie). Each
// answer of a target prolongs that. What a cookie holds is opaque on AWS, too.
type sticky struct {
	last time.Duration // zero means that nobody is bound
	now  func() time.Time
	key  [sha256.Size]byte
}

func newSticky(last time.Duration, now func() time.Time) *sticky {
	s := &sticky{last: last, now: now}
	rand.Read(s.key[:])
	return s
}

// bound returns the one of addresses that r's client is bound to; ok is false if it
// is to none of them: the cookie is missing, over or of another group, or its target
// is not there. Then the client is bound anew (user guide, "Sticky sessions").
func (s *sticky) bound(r *http.Request, addresses []string) (addr string, ok bool) {
	if s.last == 0 {
		return "", false
	}
	for _, name := range []string{stickyCookie, stickyCORSCookie} {
		for _, c := range r.CookiesNamed(name) {
			value, err := base64.StdEncoding.DecodeString(c.Value)
			if err != nil || len(value) != 8+sha256.Size {
				continue
			}
			until := value[:8]
			if s.now().UnixMilli() >= int64(binary.BigEndian.Uint64(until)) {
				continue
			}
			i := slices.IndexFunc(addresses, func(a string) bool { return hmac.Equal(value[8:], s.sign(until, a)) })
			if i >= 0 {
				return addresses[i], true
			}
		}
	}
	return "", false
}

// bind adds the cookies to an answer of the target at addr. Their attributes are
// those that ALB was seen to send.
func (s *sticky) bind(header http.Header, addr string, secure bool) {
	if s.last == 0 {
		return
	}
	end := s.now().Add(s.last)
	until := binary.BigEndian.AppendUint64(nil, uint64(end.UnixMilli()))
	value := base64.StdEncoding.EncodeToString(append(until, s.sign(until, addr)...))
	attributes := "; Expires=" + end.UTC().Format(http.TimeFormat) + "; Path=/"
	header.Add("Set-Cookie", stickyCookie+"="+value+attributes)
	attributes += "; SameSite=None"
	if secure {
		attributes += "; Secure"
	}
	header.Add("Set-Cookie", stickyCORSCookie+"="+value+attributes)
}

func (s *sticky) sign(until []byte, addr string) []byte {
	h := hmac.New(sha256.New, s.key[:])
	h.Write(until)
	h.Write([]byte(addr))
	return h.Sum(nil)
}
