package localalb

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	mathrand "math/rand/v2"
	"time"
)

// What ALB does with the X-Forwarded-For header of a client: the values of the
// attribute routing.http.xff_header_processing.mode.
const (
	XFFAppend   = "append"   // add the peer's address at the end
	XFFPreserve = "preserve" // pass on what the client sent, or nothing
	XFFRemove   = "remove"   // pass on nothing
)

// Config holds every switch of a load balancer. The zero value is an ALB as
// AWS creates it.
type Config struct {
	// Addr is the address to listen on, "127.0.0.1:0" when empty.
	Addr string

	// DNSName is the load balancer's own name, which stands in for the Host
	// of an HTTP/1.0 request that has none. Empty means "localhost".
	DNSName string

	// Port is the listener port that the load balancer claims to have, in
	// X-Forwarded-Port, Host and redirects. 0 means the port of the connection.
	Port int

	// PreserveHost is routing.http.preserve_host_header.enabled. When false,
	// a default port is cut from Host and any other listener port is added.
	PreserveHost bool

	// XFF is XFFAppend (also when empty), XFFPreserve or XFFRemove.
	XFF string

	// XFFClientPort is routing.http.xff_client_port.enabled: the appended
	// address carries the peer's port.
	XFFClientPort bool

	// RefuseAnyUpgrade makes a Lambda target group answer 400 to every Upgrade
	// header, not only to websocket. AWS documents only WebSockets; Java's
	// HttpClient sends h2c in cleartext.
	RefuseAnyUpgrade bool

	// KeepEmptyHeaders passes headers without a value to the function. ALB was
	// seen to drop them.
	KeepEmptyHeaders bool

	// NonUTF8Status answers a request to a function whose headers or text body
	// are not UTF-8. 0 means 502; AWS documents the reason (LambdaBadRequest)
	// but no status.
	NonUTF8Status int

	// MaxLambdaBody is the largest request body, in bytes before base64, that
	// reaches a function; a larger one is answered 413. 0 means 1,048,576.
	MaxLambdaBody int64

	// KeepRepeatedOrder sends repeated headers of a function's multi-value
	// answer in the order given. ALB was seen to reverse them.
	KeepRepeatedOrder bool

	// ValuesPerCondition is how many values one condition may have, besides
	// the five per rule. 0 means 3, as in the user guide; accounts that accept
	// five in one condition have been reported. source-ip always takes five.
	ValuesPerCondition int

	// ConnectTimeout bounds connecting to a target; 0 means 10 s, fixed on AWS.
	ConnectTimeout time.Duration

	// IdleTimeout is idle_timeout.timeout_seconds: how long a target may take
	// until its response header. 0 means 60 s.
	IdleTimeout time.Duration

	// OnRequest, if set, gets the record of every request, from the request's
	// goroutine, after the answer was written. The client may have read the
	// answer before.
	OnRequest func(Record)

	// OnHealth, if set, gets every change of state that health checks bring
	// about, one at a time per target. It may call the load balancer, but for
	// Close, which waits for it.
	OnHealth func(HealthChange)

	// Rand returns a number in [0, n) and chooses among weighted groups. Nil
	// means math/rand/v2. It must be safe for concurrent use.
	Rand func(n int) int

	// Now is the clock of trace ids, records and deregistration delays. Nil
	// means time.Now. Health check intervals always follow real timers.
	Now func() time.Time
}

// Defaults and limits of the user guide ("Quotas", "HTTP 4xx" causes) in bytes.
const (
	kib                = 1 << 10
	maxRequestLine     = 16 * kib
	maxHeader          = 16 * kib
	maxHeaders         = 64 * kib
	maxForwardedFor    = 30
	maxTraceHeader     = 7 * kib
	defaultLambdaBody  = 1 << 20
	maxAnswer          = 1 << 20
	maxAnswerHeaders   = 32 * kib
	defaultConditions  = 3
	defaultConnectTime = 10 * time.Second
	defaultIdleTime    = 60 * time.Second
	clientKeepAlive    = 3600 * time.Second
)

// withDefaults returns c with every zero that means a default replaced.
func (c Config) withDefaults() (Config, error) {
	c.Addr = or(c.Addr, "127.0.0.1:0")
	c.DNSName = or(c.DNSName, "localhost")
	c.XFF = or(c.XFF, XFFAppend)
	c.NonUTF8Status = or(c.NonUTF8Status, 502)
	c.MaxLambdaBody = or(c.MaxLambdaBody, defaultLambdaBody)
	c.ValuesPerCondition = or(c.ValuesPerCondition, defaultConditions)
	c.ConnectTimeout = or(c.ConnectTimeout, defaultConnectTime)
	c.IdleTimeout = or(c.IdleTimeout, defaultIdleTime)
	if c.Rand == nil {
		c.Rand = mathrand.IntN
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.XFF != XFFAppend && c.XFF != XFFPreserve && c.XFF != XFFRemove {
		return c, fmt.Errorf("localalb: XFF mode %q is none of append, preserve, remove", c.XFF)
	}
	return c, nil
}

// or returns v, or def if v is zero.
func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// newTraceID returns a fresh version-1 trace id: 1-<8 hex of time>-<24 hex>.
func newTraceID(now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint32(b[:4], uint32(now.Unix()))
	rand.Read(b[4:])
	return "1-" + hex.EncodeToString(b[:4]) + "-" + hex.EncodeToString(b[4:])
}
