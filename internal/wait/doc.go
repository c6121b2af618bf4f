// Package wait judges by what the registry shows, one look after the other, whether
// a pause has taken hold: its listener rules are moved, and no node that it covers
// has anything under way or gets anything new. What cannot be proved counts as not
// so: a node that is silent, a look that failed, a figure that is not published.
package wait
