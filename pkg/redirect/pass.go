package redirect

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/detourhq/detour/pkg/affinity"
	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

// PassCookie is the cookie by which a tester gets through to one node though it is
// paused, stale or not offered:
//
//	detour-pass=<node id>.<end in unix seconds, base 36>.<MAC>
//
// An id may hold dots, the other two never do: they are found from the end. The
// MAC is HMAC-SHA256 (RFC 2104) of all before it, cut to 16 bytes, in base64url.
const PassCookie = "detour-pass"

// MinPassKey is the least number of bytes of a key that signs passes.
const MinPassKey = 16

const passMAC = 16 // bytes, half of SHA-256's as RFC 2104 §5 allows

// SignPass returns the value of a pass to the node called id, valid before until by
// the registry's time, to the second. key has at least [MinPassKey] bytes.
func SignPass(key []byte, id string, until cluster.Millis) string {
	b := append([]byte(id), '.')
	b = append36(b, uint64(min(max(until/1000, 0), maxSeconds)))
	return string(b) + "." + macOf(key, b)
}

// VerifyPass returns the node that a pass among the cookies of cookieHeader, the
// value of a Cookie field, leads to at now; ok is false if there is none that is
// valid. A key that is too short verifies nothing.
func VerifyPass(key []byte, cookieHeader string, now cluster.Millis) (nodeID string, ok bool) {
	if len(key) < MinPassKey {
		return "", false
	}
	for {
		value, rest, found := affinity.CutCookie(cookieHeader, PassCookie)
		if !found {
			return "", false
		}
		if id, ok := verify(key, value, now); ok {
			return id, true
		}
		cookieHeader = rest
	}
}

func verify(key []byte, value string, now cluster.Millis) (id string, ok bool) {
	dot := strings.LastIndexByte(value, '.')
	if dot < 0 || !hmac.Equal([]byte(value[dot+1:]), []byte(macOf(key, []byte(value[:dot])))) {
		return "", false
	}
	value = value[:dot]
	dot = strings.LastIndexByte(value, '.')
	if dot < 0 {
		return "", false
	}
	until, ok := parse36(value[dot+1:], maxSeconds)
	return value[:dot], ok && now < cluster.Millis(until*1000)
}

// macOf says whose it is, so that a MAC for any other end is none of a pass.
func macOf(key, signed []byte) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(PassCookie + "="))
	h.Write(signed)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:passMAC])
}

// Admits reports whether req carries a pass to node that is valid at now.
func (r *Redirector) Admits(req *Request, now cluster.Millis, node string) bool {
	id, ok := r.passOf(req, now)
	return ok && id == node
}

// passOf returns the node of the first valid pass of req.
func (r *Redirector) passOf(req *Request, now cluster.Millis) (id string, ok bool) {
	if len(r.config.PassKey) == 0 {
		return "", false
	}
	for i := range req.Header {
		if f := &req.Header[i]; equalFold(f.Name, "cookie") {
			if id, ok := VerifyPass(r.config.PassKey, f.Value, now); ok {
				return id, true
			}
		}
	}
	return "", false
}

// passed returns the node that q has a pass to, nil if it has none, or if it cannot
// be led there: the node is not registered, serves something else, was visited, or
// is reached by http where the client came by https.
func (r *Redirector) passed(q *question) *cluster.Node {
	id, ok := r.passOf(q.req, q.now)
	if !ok {
		return nil
	}
	n, ok := q.snapshot.Node(id)
	if !ok || slices.Contains(q.hop.visited, selection.MarkOf(id)) || q.secure && !strings.HasPrefix(n.Endpoint, "https:") {
		return nil
	}
	if q.snapshot.Service(n.Group) != q.origin.service && !slices.Contains(q.snapshot.Groups[q.origin.group].Fallbacks, n.Group) {
		return nil
	}
	return n
}
