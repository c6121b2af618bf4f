// Package place finds out by what names AWS knows the machine or the task that
// this process runs in, so that AWS's events about it find its node.
package place
