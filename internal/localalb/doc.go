// Package localalb is an Application Load Balancer on loopback: listener
// rules, HTTP and Lambda target groups, health checks, and the answers that
// ALB itself gives. Demos and end-to-end tests send real clients through it.
//
// It follows the Application Load Balancers user guide and the API reference
// of Elastic Load Balancing v2. Where AWS documents nothing, [Config] has a
// switch, or the comment at the code says what was chosen.
//
// net/http reads the requests, so some differ from AWS before a rule is seen:
//   - An invalid escape in the path (/%zz), a control byte, two Host headers
//     and an HTTP/1.1 request without Host get the 400 of net/http, not ALB's.
//   - Headers above 1 MiB get 431; ALB knows only 400 there.
//   - Targets see canonical header names. Transfer-Encoding is not in events.
//   - With PreserveHost an absolute-form request still passes on the host of
//     its target, because net/http forgets the Host header.
//   - A reason phrase is always the standard one.
//
// Not simulated: TLS and HTTP/2 listeners, gRPC, stickiness by an application's
// cookie or to a target group, rule transforms, authentication, WAF, slow start,
// availability zones, and the seconds that a rule change takes to spread.
package localalb
