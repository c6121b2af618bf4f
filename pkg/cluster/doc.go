// Package cluster says what a node, a group and a pause are, and keeps the
// registry of them on Redis or Valkey. Nothing outside it knows a Redis key.
//
// One clock decides: the registry's own (TIME of the primary that holds the
// cluster's slot), carried as [Millis]. What a process reads is a [Snapshot],
// complete and immutable; what it changes is one script at a time.
package cluster
