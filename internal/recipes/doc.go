// Package recipes holds no code but tests of docs/recipes: they run the very files
// that an operator copies, on loopback, with a real registry, the real programs and
// a steady load. What AWS, systemd and Kubernetes do with the files is done by
// stand-ins that know no more than those files use: what they do not know, they
// refuse.
package recipes
