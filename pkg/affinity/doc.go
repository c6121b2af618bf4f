// Package affinity finds out which nodes a session names. Application servers
// write that into the session's own id; nothing of it is decoded, signed or
// believed: a name counts once a registered node says that it goes by it.
package affinity
