// Package traffic is what a deployment is tried with: nodes that really stop and
// start again, and clients that send at a steady rate, follow redirects and check
// every body. The demo and the tests of the whole use it.
package traffic
