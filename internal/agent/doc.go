// Package agent keeps one node in the registry, from beside its application or
// inside it: it registers the node, pulses, reports what the node says of
// itself, mends what the registry has lost of it, and tells the node when a
// pause begins to cover it or no longer does.
package agent
