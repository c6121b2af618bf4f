// Package arch holds no code but tests of the module's architecture: which
// folder may import which, what pure packages keep away from, sizes, package
// comments and where a process may exit.
//
// The tests parse the source themselves and do not ask `go list`: Go's test
// cache knows the files that a test opens, not those that a child process
// reads, and would go on reporting an old success.
package arch
