// Package gate guards a node from inside or from beside its application. It
// counts what arrives and what is in flight, and while a pause covers the node
// it redirects or holds what arrives, so that the node falls quiet without a
// client that sees an error.
//
// A [Gate] is middleware for net/http: it asks the registry itself. A [Socket]
// serves applications in any language on a unix socket: it gives each request
// its GO, and merges the figures of the gates that report to it.
package gate
