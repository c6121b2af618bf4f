// Package demo is a whole rolling deployment on this machine, under load: a
// local load balancer, the real redirect function under a local Lambda runtime,
// two groups of nodes that really stop and start again as a new version, and
// clients that follow redirects and check every body.
package demo
