package main

import (
	"errors"
	"strings"

	"github.com/aws/smithy-go"
)

// advised is an error with what to do about it.
type advised struct {
	error
	do string
}

func (e *advised) Unwrap() error { return e.error }

const unreached = "look at --redis or DETOUR_REDIS_URL (rediss:// where it wants TLS), and whether it is reached from here; from outside its VPC: --function NAME"

// registryFaults are words in the registry's errors, and what to do then. Of some of
// them nothing but the text is left.
var registryFaults = []struct{ word, do string }{
	{"NOAUTH", "name user and password in the registry's URL: redis://[USER:PASSWORD@]HOST:PORT"},
	{"WRONGPASS", "look at user and password in the registry's URL: redis://[USER:PASSWORD@]HOST:PORT"},
	{"NOPERM", "give the URL's user the rights that docs/registry.acl lists"},
	{"READONLY", "this is a replica: name its primary by --redis or DETOUR_REDIS_URL"},
	{"cluster support disabled", "leave ?cluster=true off the registry's URL"},
	{"MOVED ", "this is a cluster: add ?cluster=true to the registry's URL"},
	{"dial ", unreached},
	{"timeout", unreached},
	{"deadline exceeded", unreached},
	{"EOF", unreached},
	{"reset by peer", unreached},
}

// advise adds to an error what to do about it, where that is known.
func advise(err error) error {
	if aws := (*smithy.OperationError)(nil); errors.As(err, &aws) {
		return &advised{err, "look at the AWS credentials and Region of this shell, and whether they allow " + aws.Operation()}
	}
	for _, f := range registryFaults {
		if strings.Contains(err.Error(), f.word) {
			return &advised{err, f.do}
		}
	}
	return err
}
