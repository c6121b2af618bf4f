// Package e2e holds no code but tests of the redirect function as it is
// shipped: its real binary under a local Lambda host, behind a local load
// balancer, beside a real redis-server, called by the HTTP clients that people
// use. Everything stays on loopback (127.0.0.0/8).
//
// What is tested in a package of its own is not tested here again. Here are the
// guarantees that only the whole can keep: any request, any registry fault and
// any freeze gets a valid answer in time, bodies arrive whole, loops end, and a
// pause holds from the moment it is acknowledged. Where a test has to show that it
// would notice, or a clock has to be wrong, a program is built from texts that
// differ from the module's own in that (see texts).
package e2e
