// Package selection says which nodes are offered to a request and picks one of
// them. It is pure: the snapshot, the instant and the random numbers are passed
// in, and nothing is read or written besides.
//
// A [Table] is a snapshot made ready: pauses, reports and roles are resolved once,
// and nodes lie in pools of those that stand in for each other. What changes
// with time or with the request (stale nodes, visited ones, the origin, fade-in)
// is decided at each pick by rejection sampling (von Neumann, "Various techniques
// used in connection with random digits", 1951): draw by full weight, keep the
// draw with the probability that the node deserves, and after a few refusals
// weigh all nodes exactly. The shares are the same either way, and a pick costs
// the same with ten nodes as with ten thousand.
package selection
