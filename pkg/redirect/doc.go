// Package redirect makes one decision: a request, a snapshot of the registry
// and a time give a 307 to a healthy node, a 503, a health answer or a CORS
// preflight answer. It does no I/O and reads no clock.
package redirect
