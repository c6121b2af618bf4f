// Package redistest starts real Redis servers for tests, as net/http/httptest
// does for HTTP: on free loopback ports, in the test's own folders, gone when the
// test ends. A server stands alone, follows another one as its replica, or is a
// member of a cluster.
package redistest
