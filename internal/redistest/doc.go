// Package redistest starts real Redis servers for tests, as net/http/httptest
// does for HTTP: on a free loopback port, in the test's own folder, gone when
// the test ends.
package redistest
