// Package doctor names what is wrong with a set-up, and what to do about it. It
// reads the registry and, where that can be called, AWS; it changes nothing. Each
// check is one function over what was read.
package doctor
