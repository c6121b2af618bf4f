// Package registrytest helps tests of the registry with what real deployments
// put around it: the ACL users of docs/registry.acl, and a server that refuses
// what ElastiCache Serverless refuses. Its own tests run the node's agent, the
// sweep and the commands there, as well as docs/examples, and beside records
// that cannot be read.
package registrytest
